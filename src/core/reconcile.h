#pragma once
// The whole-state check: does what we remember agree with itself?
//
// Light looks at workers, what they hold and their machines; thorough recounts every run, list and
// counter. In a quiet system both find nothing. Tasks of dead workers are repaired in place with a
// ledger entry; anything else means our memory is wrong, and is thrown away and loaded again.

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/state.h"

namespace vortex::core {

enum class Depth : std::uint8_t { kLight, kThorough };

struct Finding {
  std::string what;
};

std::vector<Finding> check_state(const State& state, Depth depth);

// One light pass with its events. A pass that finds nothing is told of only when it was asked for,
// or in sum once an hour.
enum class Tell : std::uint8_t { kWhenFound, kAlways };
void reconcile(Context& cx, Tell tell);
void on_reconcile_timer(Context& cx);

// Before a level is passed: is every node of the level really done?
bool level_really_complete(Context& cx, RunIx run, std::uint32_t level);

// Tasks assigned to workers that are gone are taken back.
void repair_held(Context& cx);

void note_repair(Context& cx, TaskIx task, const char* what);
void start_own_timers(Context& cx);

}  // namespace vortex::core
