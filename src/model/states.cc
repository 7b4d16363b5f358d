#include "model/states.h"

#include "base/assert.h"

// Switches without a default: a state added without its text does not compile.
namespace vortex {

std::string_view to_text(TaskState state) {
  switch (state) {
    case TaskState::kWaiting:
      return "Waiting";
    case TaskState::kQueued:
      return "Queued";
    case TaskState::kScheduled:
      return "Scheduled";
    case TaskState::kRunning:
      return "Running";
    case TaskState::kCompleted:
      return "Completed";
    case TaskState::kFailed:
      return "Failed";
    case TaskState::kCancelled:
      return "Cancelled";
    case TaskState::kSkipped:
      return "Skipped";
  }
  VX_ASSERT(false && "a value outside TaskState");
}

std::string_view to_text(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "Running";
    case RunState::kCompleted:
      return "Completed";
    case RunState::kFailed:
      return "Failed";
    case RunState::kCancelled:
      return "Cancelled";
  }
  VX_ASSERT(false && "a value outside RunState");
}

std::string_view to_text(WorkerState state) {
  switch (state) {
    case WorkerState::kRegistering:
      return "REGISTERING";
    case WorkerState::kIdle:
      return "IDLE";
    case WorkerState::kRunning:
      return "RUNNING";
    case WorkerState::kDraining:
      return "DRAINING";
    case WorkerState::kInactive:
      return "INACTIVE";
    case WorkerState::kOffline:
      return "OFFLINE";
  }
  VX_ASSERT(false && "a value outside WorkerState");
}

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompleted:
      return "completed";
    case Verdict::kExitCode:
      return "exit_code";
    case Verdict::kSignal:
      return "signal";
    case Verdict::kOutOfMemory:
      return "out_of_memory";
    case Verdict::kCouldNotStart:
      return "could_not_start";
    case Verdict::kExecutionTimeout:
      return "execution_timeout";
    case Verdict::kStale:
      return "stale";
    case Verdict::kNotStartedInTime:
      return "not_started_in_time";
    case Verdict::kSelfFenced:
      return "self_fenced";
    case Verdict::kDrained:
      return "drained";
    case Verdict::kLostInTransit:
      return "lost_in_transit";
    case Verdict::kWorkerLost:
      return "worker_lost";
    case Verdict::kCancelled:
      return "cancelled";
    case Verdict::kGivenBack:
      return "given_back";
  }
  VX_ASSERT(false && "a value outside Verdict");
}

std::string_view to_text(Evidence evidence) {
  switch (evidence) {
    case Evidence::kExit:
      return "exit";
    case Evidence::kNewIncarnation:
      return "new_incarnation";
    case Evidence::kOperator:
      return "operator";
    case Evidence::kGoodbye:
      return "goodbye";
    case Evidence::kHint:
      return "hint";
    case Evidence::kSilence:
      return "silence";
    case Evidence::kReconciler:
      return "reconciler";
  }
  VX_ASSERT(false && "a value outside Evidence");
}

std::string_view to_text(DeathReason reason) {
  switch (reason) {
    case DeathReason::kRetriesExhausted:
      return "retries_exhausted";
    case DeathReason::kNotRetryable:
      return "not_retryable";
    case DeathReason::kCrashLimit:
      return "crash_limit";
    case DeathReason::kStallLimit:
      return "stall_limit";
    case DeathReason::kNeverStarted:
      return "never_started";
    case DeathReason::kWorkerQueueExpired:
      return "worker_queue_expired";
    case DeathReason::kReleaseLimit:
      return "release_limit";
  }
  VX_ASSERT(false && "a value outside DeathReason");
}

}  // namespace vortex
