#pragma once
// The states of tasks, runs and workers as people see them in rows, answers and logs.
// Append-only: the texts are on disk and on the wire.

#include <cstdint>
#include <string_view>

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
inline constexpr std::size_t kTaskStates = 8;

constexpr std::size_t number_of(TaskState s) { return static_cast<std::size_t>(s); }
constexpr bool is_final(TaskState s) { return s >= TaskState::kCompleted; }
constexpr bool is_held(TaskState s) {
  return s == TaskState::kScheduled || s == TaskState::kRunning;
}

enum class RunState : std::uint8_t { kRunning, kCompleted, kFailed, kCancelled };

enum class WorkerState : std::uint8_t {
  kRegistering,  // known, no heartbeat yet
  kIdle,
  kRunning,
  kDraining,
  kInactive,  // left on purpose
  kOffline,   // lost
};

constexpr bool is_present(WorkerState s) { return s <= WorkerState::kDraining; }
constexpr bool is_active(WorkerState s) {
  return s == WorkerState::kIdle || s == WorkerState::kRunning;
}

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
  kGivenBack,  // held ahead of a slot for too long
};

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

constexpr bool is_proof(Evidence e) { return e <= Evidence::kGoodbye; }

// Why a task is in the dead-letter queue.
enum class DeathReason : std::uint8_t {
  kRetriesExhausted,
  kNotRetryable,
  kCrashLimit,
  kStallLimit,
  kNeverStarted,
  kWorkerQueueExpired,
  kReleaseLimit,  // workers that go on working handed it back or dropped it too often
};

std::string_view to_text(TaskState);
std::string_view to_text(RunState);
std::string_view to_text(WorkerState);
std::string_view to_text(Verdict);
std::string_view to_text(Evidence);
std::string_view to_text(DeathReason);

}  // namespace vortex
