#pragma once
// What keeps a queued task from running: every obstacle at once, and every worker's own reason.
//
// A task can be held up by several things at a time (a paused run, a map at its limit, a cordoned
// worker), and whoever removes only the one that was named would wait for nothing. Obstacles that
// stay until somebody acts come before those that pass by themselves. Looks at each known worker
// once; changes nothing.

#include "core/context.h"
#include "core/explain.h"
#include "core/state/task.h"

namespace vortex::core {

Explanation why_queued(Context& cx, const Task& task, const Queued& queued);

// Of any task of a run that waits for its turn.
Explanation why_no_turn(const State& state, const Run& run);

// What a limit has to do with a queued task that names it; unset: it lets the task through.
struct LimitObstacle {
  Obstacle obstacle;
  std::string moves_when;
  std::optional<Instant> until;
};
std::optional<LimitObstacle> obstacle_of(const State& state, LimitIx ix, const Task& task,
                                         Instant now);

// Some worker runs tasks of this class now or will after those that it holds.
bool has_way_on(Context& cx, ClassIx cls);

// "1 task", "2 tasks"
std::string count_text(std::uint64_t number, std::string_view noun);

}  // namespace vortex::core
