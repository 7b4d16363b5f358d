#pragma once
// Why a task is where it is, and what would move it. For any task of a live run, at any time.
//
// The reason is a closed list that programs can act on; `details` are the facts behind it and
// `moves_when` the next thing that changes it, as short sentences for people. `obstacles` names
// everything that keeps a queued task from running, not just the first thing; those that stay
// until somebody acts come first.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/state/state.h"
#include "model/ids.h"
#include "model/states.h"

namespace vortex::core {

enum class WaitReason : std::uint8_t {
  kUnknownTask,
  kFinal,
  kNotMadeYet,   // item of a map that is not ready, or is still being made
  kNeedsOpen,    // waits for other nodes
  kLevelClosed,  // waits for lower levels
  kBackoff,
  kRunPaused,
  kQueuePaused,
  kMapAtLimit,
  kNoSuchWorker,      // no worker, present or not, fits its requirements
  kResourcesNowhere,  // some do, but none has as much as it needs even when idle
  kFittingWorkersGone,
  kFittingWorkersBarred,  // cordoned, suspect or draining
  kFittingWorkersFull,
  kKeepsAway,      // from its last worker, for a short while
  kLastTryApart,   // from another suspect on its last try
  kBehindOthers,   // others are ahead in the queue
  kNotStartedYet,  // handed to a worker
  kRunning,
  kStopping,
  kWaitsForTime,
  kWaitsForSignal,
  kWaitsForApproval,
  kOthersOpen,     // in `finally`: the other tasks have not ended
  kWaitsForTurn,   // its run does: others of its group go on
  kLimitFull,      // a named limit has no slot or no rate left
  kNoSuchLimit,    // nobody has set the limit that it names
  kWaitsForChild,  // of a sub-DAG: its run has not ended
  kRunNotBegun,    // its run was submitted ahead of its time
};

// One of the things that keep a task from running.
struct Obstacle {
  WaitReason reason = WaitReason::kUnknownTask;
  bool permanent = false;  // stays until somebody acts
  std::string what;        // "queue 'gpu' is paused"
  std::string action;      // what a user can do about it; empty: nothing but wait
};

// Why one worker does not run it right now.
struct WorkerObstacle {
  WorkerId worker;
  std::string why;  // "lacks the label gpu=a100"
};

struct Explanation {
  WaitReason reason = WaitReason::kUnknownTask;
  TaskState state = TaskState::kWaiting;
  std::vector<std::string> details;
  std::string moves_when;
  std::optional<Instant> moves_at;      // when the time is known
  std::vector<Obstacle> obstacles;      // permanent ones first; empty: none, or it is not queued
  std::vector<WorkerObstacle> workers;  // the nearest to running it first; not all of many
  std::uint32_t workers_unnamed = 0;    // how many more there are
};

// Not const: asking which workers fit fills a cache of the answer.
Explanation explain(State& state, TaskId id, Instant now);

std::string_view to_text(WaitReason reason);

// Tasks that wait for the same thing, and do so until somebody acts.
struct Standstill {
  std::uint64_t tasks = 0;  // of this kind that were seen
  TaskId example;
  Explanation why;
};

// What does not move by itself, the most tasks first: of one run, or with no run of all queues.
// Looks at a bounded number of tasks, so it may be asked often.
std::vector<Standstill> standstills(State& state, std::optional<RunId> run, Instant now);

// An approval that nobody has answered yet.
struct OpenApproval {
  TaskId task;
  std::string name;  // of the task
  std::string dag;
  std::string question;
  std::vector<Role> by;  // who may answer, besides admins
  Instant due = kNever;  // when it times out
};
// By run and task; at most so many.
std::vector<OpenApproval> open_approvals(const State& state, std::size_t most);

// A limit and who holds it.
struct LimitInfo {
  LimitRow row;
  bool is_set = false;          // false: tasks name it, and nobody has set it
  std::uint32_t held = 0;       // tasks on workers
  std::uint64_t waiting = 0;    // tasks that are ready and not on workers
  std::uint64_t lately = 0;     // started within the window of its rate
  std::vector<TaskId> holders;  // at most kLimitHoldersMax
};
inline constexpr std::size_t kLimitHoldersMax = 20;
// By name; those that tasks name and nobody has set included.
std::vector<LimitInfo> limit_infos(const State& state, Instant now);

// How much waits in each queue and how much of it is on workers, from memory: no scan over tasks.
// Costs one look per class of requirements and per held task; changes nothing.

struct QueueDepth {
  std::string name;
  bool paused = false;
  std::uint64_t ready = 0;              // may start now
  std::uint64_t held = 0;               // on workers
  std::uint32_t workers = 0;            // present ones that listen to it
  std::optional<Instant> oldest_ready;  // since when the oldest of them is ready
};

std::vector<QueueDepth> queue_depths(const State& state);

}  // namespace vortex::core
