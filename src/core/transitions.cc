#include "core/transitions.h"

#include <utility>

#include "base/assert.h"

namespace vortex::core {

std::optional<TaskState> next_state(TaskState from, TaskEvent event) {
  using S = TaskState;
  const auto only_from = [](bool allowed, S to) -> std::optional<S> {
    if (!allowed) return std::nullopt;
    return to;
  };
  switch (event) {
    case TaskEvent::kNeedsMet:
      return only_from(from == S::kWaiting, S::kQueued);
    case TaskEvent::kGranted:
      return only_from(from == S::kQueued, S::kScheduled);
    case TaskEvent::kStarted:
      return only_from(from == S::kScheduled, S::kRunning);
    case TaskEvent::kTakenBack:
      return only_from(is_held(from), S::kQueued);
    case TaskEvent::kCompleted:
      return only_from(from == S::kRunning, S::kCompleted);
    case TaskEvent::kFailed:
      return only_from(!is_final(from), S::kFailed);
    case TaskEvent::kCancelled:
      return only_from(!is_final(from), S::kCancelled);
    case TaskEvent::kSkipped:
      return only_from(from == S::kWaiting || from == S::kQueued, S::kSkipped);
    case TaskEvent::kRevived:
      return only_from(from == S::kFailed, S::kQueued);
    case TaskEvent::kUnskipped:
      return only_from(from == S::kSkipped, S::kWaiting);
    case TaskEvent::kWaited:
      return only_from(from == S::kQueued, S::kCompleted);
    case TaskEvent::kTriedAgain:
      return only_from(from == S::kQueued, S::kQueued);
    case TaskEvent::kKept:
      return only_from(from == S::kWaiting, S::kCompleted);
  }
  return std::nullopt;
}

void move_task(Context& cx, TaskIx ix, TaskEvent event, Phase to) {
  Task& task = cx.task(ix);
  const TaskState before = task.state();
  const auto allowed = next_state(before, event);
  task.phase = to;
  VX_ASSERT(allowed && *allowed == task.state());
  const NodeSpec& spec = cx.spec_of(task);
  VX_ASSERT(event != TaskEvent::kWaited || spec.wait || spec.child);
  VX_ASSERT(event != TaskEvent::kGranted || !(spec.wait || spec.child));
  VX_ASSERT(event != TaskEvent::kTriedAgain || spec.child);
  Run& run = cx.run_of(task);
  ++run.changes;
  --run.made[number_of(before)];
  ++run.made[number_of(*allowed)];
  cx.count(before, *allowed);
  cx.touch(ix);
  cx.touch(task.run);
}

}  // namespace vortex::core
