#pragma once
// The life of a task, drawn once. No other file changes a task's phase.
//
//             1          2           3            5
//   Waiting ----> Queued ---> Scheduled ---> Running ---> Completed
//      |            ^  ^          |             |
//      |            |  +----4-----+------4------+   (retry, release, reclaim: a new epoch)
//      |            |
//      |            +--- 9 --- Failed       6 Waiting, Queued, Scheduled, Running -> Failed
//      +--- 8 ---> Skipped --10--> Waiting  7 Waiting, Queued, Scheduled, Running -> Cancelled
//                                           8 also from Queued, when a map stops early
//                                          11 Queued -> Completed, only of a task that waits
//                                          12 Queued -> Queued, a new try of a sub-DAG
//                                          13 Waiting -> Completed, with the result of another
//
//   1 needs met   2 granted to a worker   3 start reported   4 taken back   5 result accepted
//   6 no try left, or a condition that cannot be evaluated (the only way from Waiting)
//   7 cancelled   8 cannot or need not run
//   9, 10 only by an operator's retry, which is logged
//   11 its time is up, its signal came, its question was answered or its run completed: no worker
//      ever had it
//   13 in the step that makes its run, which keeps what is still valid of an earlier one

#include <cstdint>
#include <optional>

#include "core/context.h"
#include "core/state/task.h"
#include "model/states.h"

namespace vortex::core {

enum class TaskEvent : std::uint8_t {
  kNeedsMet,
  kGranted,
  kStarted,
  kTakenBack,
  kCompleted,
  kFailed,
  kCancelled,
  kSkipped,
  kRevived,
  kUnskipped,
  kWaited,
  kTriedAgain,
  kKept,
};
inline constexpr std::size_t kTaskEvents = 13;

// Where the event leads from a state; none: there is no such edge.
std::optional<TaskState> next_state(TaskState from, TaskEvent event);

// Puts the task into `to`, which must be where `event` leads, and marks its row.
void move_task(Context& cx, TaskIx ix, TaskEvent event, Phase to);

}  // namespace vortex::core
