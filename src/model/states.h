#pragma once
// The states of tasks, runs and workers, and the other closed lists that rows hold, each with the
// words that people see. Append-only: words and numbers are on disk and on the wire.

#include <cstddef>
#include <cstdint>

#include "model/words.h"

namespace vortex {

enum class TaskState : std::uint8_t {
  kWaiting,
  kQueued,
  kScheduled,
  kRunning,
  kCompleted,
  kFailed,
  kCancelled,
  kSkipped,
};
template <>
inline constexpr auto kWords<TaskState> = words<TaskState>({
    {TaskState::kWaiting, "Waiting"},
    {TaskState::kQueued, "Queued"},
    {TaskState::kScheduled, "Scheduled"},
    {TaskState::kRunning, "Running"},
    {TaskState::kCompleted, "Completed"},
    {TaskState::kFailed, "Failed"},
    {TaskState::kCancelled, "Cancelled"},
    {TaskState::kSkipped, "Skipped"},
});
inline constexpr std::size_t kTaskStates = kWords<TaskState>.size();

constexpr std::size_t number_of(TaskState s) { return static_cast<std::size_t>(s); }
constexpr bool is_final(TaskState s) { return s >= TaskState::kCompleted; }
constexpr bool is_held(TaskState s) {
  return s == TaskState::kScheduled || s == TaskState::kRunning;
}

enum class RunState : std::uint8_t { kRunning, kCompleted, kFailed, kCancelled };
template <>
inline constexpr auto kWords<RunState> = words<RunState>({
    {RunState::kRunning, "Running"},
    {RunState::kCompleted, "Completed"},
    {RunState::kFailed, "Failed"},
    {RunState::kCancelled, "Cancelled"},
});

enum class WorkerState : std::uint8_t {
  kRegistering,  // known, no heartbeat yet
  kIdle,
  kRunning,
  kDraining,
  kInactive,  // left on purpose
  kOffline,   // lost
};
template <>
inline constexpr auto kWords<WorkerState> = words<WorkerState>({
    {WorkerState::kRegistering, "REGISTERING"},
    {WorkerState::kIdle, "IDLE"},
    {WorkerState::kRunning, "RUNNING"},
    {WorkerState::kDraining, "DRAINING"},
    {WorkerState::kInactive, "INACTIVE"},
    {WorkerState::kOffline, "OFFLINE"},
});

constexpr bool is_present(WorkerState s) { return s <= WorkerState::kDraining; }
constexpr bool is_active(WorkerState s) {
  return s == WorkerState::kIdle || s == WorkerState::kRunning;
}

// How far a worker is blamed for tasks that died abnormally on it.
enum class WorkerBlame : std::uint8_t {
  kNone,
  kCordoned,   // waits for its probation
  kProbation,  // gets one task at a time; the first normal end lifts the cordon
};
template <>
inline constexpr auto kWords<WorkerBlame> = words<WorkerBlame>({
    {WorkerBlame::kNone, "none"},
    {WorkerBlame::kCordoned, "cordoned"},
    {WorkerBlame::kProbation, "probation"},
});

// How an attempt ended.
enum class Verdict : std::uint8_t {
  kCompleted,
  kExitCode,
  kSignal,
  kOutOfMemory,
  kCouldNotStart,
  kExecutionTimeout,
  kStale,
  kNotStartedInTime,
  kSelfFenced,
  kDrained,
  kLostInTransit,
  kWorkerLost,
  kCancelled,
  kGivenBack,    // held ahead of a slot for too long
  kChildFailed,  // of a sub-DAG: its child run failed or was cancelled
};
template <>
inline constexpr auto kWords<Verdict> = words<Verdict>({
    {Verdict::kCompleted, "completed"},
    {Verdict::kExitCode, "exit_code"},
    {Verdict::kSignal, "signal"},
    {Verdict::kOutOfMemory, "out_of_memory"},
    {Verdict::kCouldNotStart, "could_not_start"},
    {Verdict::kExecutionTimeout, "execution_timeout"},
    {Verdict::kStale, "stale"},
    {Verdict::kNotStartedInTime, "not_started_in_time"},
    {Verdict::kSelfFenced, "self_fenced"},
    {Verdict::kDrained, "drained"},
    {Verdict::kLostInTransit, "lost_in_transit"},
    {Verdict::kWorkerLost, "worker_lost"},
    {Verdict::kCancelled, "cancelled"},
    {Verdict::kGivenBack, "given_back"},
    {Verdict::kChildFailed, "child_failed"},
});

// What the decision that a worker is gone rests on.
enum class Evidence : std::uint8_t {
  kExit,            // proof: its supervisor saw it end and its tasks are gone
  kNewIncarnation,  // proof: the same worker registered again
  kOperator,        // proof: a person said so
  kGoodbye,         // it left on purpose with work still assigned
  kHint,            // closed and refused
  kSilence,         // its lease ended
  kReconciler,      // found assigned to a worker that is gone
};
template <>
inline constexpr auto kWords<Evidence> = words<Evidence>({
    {Evidence::kExit, "exit"},
    {Evidence::kNewIncarnation, "new_incarnation"},
    {Evidence::kOperator, "operator"},
    {Evidence::kGoodbye, "goodbye"},
    {Evidence::kHint, "hint"},
    {Evidence::kSilence, "silence"},
    {Evidence::kReconciler, "reconciler"},
});

constexpr bool is_proof(Evidence e) { return e <= Evidence::kGoodbye; }

// Why a task is in the dead-letter queue.
enum class DeathReason : std::uint8_t {
  kRetriesExhausted,
  kNotRetryable,
  kCrashLimit,
  kStallLimit,
  kNeverStarted,
  kWorkerQueueExpired,
  kReleaseLimit,    // workers that go on working handed it back or dropped it too often
  kConditionError,  // its condition could not be evaluated
  kMapError,        // its map had no items to be made of
  kWaitTimedOut,    // nobody sent the signal, or answered, in time
  kRejected,        // somebody answered its approval with no
};
template <>
inline constexpr auto kWords<DeathReason> = words<DeathReason>({
    {DeathReason::kRetriesExhausted, "retries_exhausted"},
    {DeathReason::kNotRetryable, "not_retryable"},
    {DeathReason::kCrashLimit, "crash_limit"},
    {DeathReason::kStallLimit, "stall_limit"},
    {DeathReason::kNeverStarted, "never_started"},
    {DeathReason::kWorkerQueueExpired, "worker_queue_expired"},
    {DeathReason::kReleaseLimit, "release_limit"},
    {DeathReason::kConditionError, "condition_error"},
    {DeathReason::kMapError, "map_error"},
    {DeathReason::kWaitTimedOut, "wait_timed_out"},
    {DeathReason::kRejected, "rejected"},
});

// Why the worker of a task was asked to stop it.
enum class StopReason : std::uint8_t { kNone, kCancel, kStale, kExecutionTimeout, kNotStarted };
template <>
inline constexpr auto kWords<StopReason> = words<StopReason>({
    {StopReason::kNone, "none"},
    {StopReason::kCancel, "cancel"},
    {StopReason::kStale, "stale"},
    {StopReason::kExecutionTimeout, "execution_timeout"},
    {StopReason::kNotStarted, "not_started"},
});

// How a request ended, as the audit log tells them apart.
enum class AuditOutcome : std::uint8_t { kOk, kRefused, kFailed };
template <>
inline constexpr auto kWords<AuditOutcome> = words<AuditOutcome>({
    {AuditOutcome::kOk, "ok"},
    {AuditOutcome::kRefused, "refused"},
    {AuditOutcome::kFailed, "failed"},
});

// Why a run takes no more work although tasks are open.
enum class RunEnding : std::uint8_t { kNone, kCancelled, kTimedOut };
template <>
inline constexpr auto kWords<RunEnding> = words<RunEnding>({
    {RunEnding::kNone, "none"},
    {RunEnding::kCancelled, "cancelled"},
    {RunEnding::kTimedOut, "timed_out"},
});

// How a run ended, as its `finally` tasks are told.
enum class RunResult : std::uint8_t { kCompleted, kFailed, kCancelled, kTimedOut };
template <>
inline constexpr auto kWords<RunResult> = words<RunResult>({
    {RunResult::kCompleted, "completed"},
    {RunResult::kFailed, "failed"},
    {RunResult::kCancelled, "cancelled"},
    {RunResult::kTimedOut, "timed_out"},
});

// What somebody outside told a run.
enum class SignalKind : std::uint8_t { kSignal, kApproved, kRejected };
template <>
inline constexpr auto kWords<SignalKind> = words<SignalKind>({
    {SignalKind::kSignal, "signal"},
    {SignalKind::kApproved, "approved"},
    {SignalKind::kRejected, "rejected"},
});

// Why a schedule starts no runs.
enum class SchedulePause : std::uint8_t { kNone, kByOperator, kByFailure };
template <>
inline constexpr auto kWords<SchedulePause> = words<SchedulePause>({
    {SchedulePause::kNone, "none"},
    {SchedulePause::kByOperator, "operator"},
    {SchedulePause::kByFailure, "failure"},
});

// What was done about a dead letter.
enum class DeadLetterState : std::uint8_t { kOpen, kRedriven, kDiscarded };
template <>
inline constexpr auto kWords<DeadLetterState> = words<DeadLetterState>({
    {DeadLetterState::kOpen, "open"},
    {DeadLetterState::kRedriven, "redriven"},
    {DeadLetterState::kDiscarded, "discarded"},
});

// What the owner of a token may do.
enum class Role : std::uint8_t { kViewer, kSubmitter, kOperator, kWorker, kAdmin };
template <>
inline constexpr auto kWords<Role> = words<Role>({
    {Role::kViewer, "viewer"},
    {Role::kSubmitter, "submitter"},
    {Role::kOperator, "operator"},
    {Role::kWorker, "worker"},
    {Role::kAdmin, "admin"},
});

}  // namespace vortex
