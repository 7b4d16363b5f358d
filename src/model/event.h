#pragma once
// One line of the monitor log: what happened, to whom, when. Written only after its commit.
//
// Names are append-only; the first group is the contract's (CONTRACT M06), to be grepped for.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/words.h"

namespace vortex {

enum class EventKind : std::uint8_t {
  kWorkerSpawn,
  kWorkerSpawnRetry,
  kWorkerSpawnFailed,
  kWorkerReady,
  kWorkerExit,
  kWorkerCrash,
  kWorkerRespawn,
  kTaskClaimed,
  kTaskStarted,
  kTaskComplete,
  kTaskFailed,
  kTaskTimeout,
  kTaskReassigned,
  kHeartbeatStale,
  kHeartbeatRecovered,
  kStateReconcileStart,
  kStateReconcileFix,
  kStateReconcileComplete,
  kLevelCheck,
  kLevelComplete,
  // Ours.
  kRunSubmitted,
  kRunComplete,
  kRunCancelRequested,
  kRunPaused,
  kRunResumed,
  kTaskRetry,
  kTaskRequeued,
  kTaskCancelled,
  kTaskQuarantined,
  kTaskDeadLettered,
  kTaskRedriven,
  kTaskDiscarded,
  kStaleResultRefused,
  kWorkerRegistered,
  kWorkerDraining,
  kWorkerInactive,
  kWorkerOffline,
  kWorkerCordoned,
  kWorkerUncordoned,
  kWorkerReset,
  kMachineOnline,
  kMachineOffline,
  kHealthPass,
  kBrakeEngaged,
  kBrakeReleased,
  kLeaseAcquired,
  kLeaseReleased,
  kLeaseExpired,
  kQueuePaused,
  kQueueResumed,
  kCheckpointRefused,
  kStateDamaged,
  kWorkerDeleted,
  kLeaseForgotten,
  kWorkerFlapping,
  kWorkerProbation,
  kWorkerCordonWithheld,
  kSecretChanged,
  kSecretUsed,
  kTaskSkipped,
  kSignalReceived,
  kApprovalRequested,
  kTaskApproved,
  kTaskRejected,
  kFinallyStarted,
  kScheduleSet,
  kScheduleRemoved,
  kSchedulePaused,
  kScheduleResumed,
  kScheduleTriggered,
  kSlotStarted,
  kSlotQueued,
  kSlotSkipped,
  kSlotsMissed,
  kRunWaits,
  kRunBegan,
  kRunSkipped,
  kLimitChanged,
  kChildStarted,
  kChildEnded,
  kRunStarted,
};
template <>
inline constexpr auto kWords<EventKind> = words<EventKind>({
    {EventKind::kWorkerSpawn, "worker_spawn"},
    {EventKind::kWorkerSpawnRetry, "worker_spawn_retry"},
    {EventKind::kWorkerSpawnFailed, "worker_spawn_failed"},
    {EventKind::kWorkerReady, "worker_ready"},
    {EventKind::kWorkerExit, "worker_exit"},
    {EventKind::kWorkerCrash, "worker_crash"},
    {EventKind::kWorkerRespawn, "worker_respawn"},
    {EventKind::kTaskClaimed, "task_claimed"},
    {EventKind::kTaskStarted, "task_started"},
    {EventKind::kTaskComplete, "task_complete"},
    {EventKind::kTaskFailed, "task_failed"},
    {EventKind::kTaskTimeout, "task_timeout"},
    {EventKind::kTaskReassigned, "task_reassigned"},
    {EventKind::kHeartbeatStale, "heartbeat_stale"},
    {EventKind::kHeartbeatRecovered, "heartbeat_recovered"},
    {EventKind::kStateReconcileStart, "state_reconcile_start"},
    {EventKind::kStateReconcileFix, "state_reconcile_fix"},
    {EventKind::kStateReconcileComplete, "state_reconcile_complete"},
    {EventKind::kLevelCheck, "level_check"},
    {EventKind::kLevelComplete, "level_complete"},
    {EventKind::kRunSubmitted, "run_submitted"},
    {EventKind::kRunComplete, "run_complete"},
    {EventKind::kRunCancelRequested, "run_cancel_requested"},
    {EventKind::kRunPaused, "run_paused"},
    {EventKind::kRunResumed, "run_resumed"},
    {EventKind::kTaskRetry, "task_retry"},
    {EventKind::kTaskRequeued, "task_requeued"},
    {EventKind::kTaskCancelled, "task_cancelled"},
    {EventKind::kTaskQuarantined, "task_quarantined"},
    {EventKind::kTaskDeadLettered, "task_dead_lettered"},
    {EventKind::kTaskRedriven, "task_redriven"},
    {EventKind::kTaskDiscarded, "task_discarded"},
    {EventKind::kStaleResultRefused, "stale_result_refused"},
    {EventKind::kWorkerRegistered, "worker_registered"},
    {EventKind::kWorkerDraining, "worker_draining"},
    {EventKind::kWorkerInactive, "worker_inactive"},
    {EventKind::kWorkerOffline, "worker_offline"},
    {EventKind::kWorkerCordoned, "worker_cordoned"},
    {EventKind::kWorkerUncordoned, "worker_uncordoned"},
    {EventKind::kWorkerReset, "worker_reset"},
    {EventKind::kMachineOnline, "machine_online"},
    {EventKind::kMachineOffline, "machine_offline"},
    {EventKind::kHealthPass, "health_pass"},
    {EventKind::kBrakeEngaged, "brake_engaged"},
    {EventKind::kBrakeReleased, "brake_released"},
    {EventKind::kLeaseAcquired, "lease_acquired"},
    {EventKind::kLeaseReleased, "lease_released"},
    {EventKind::kLeaseExpired, "lease_expired"},
    {EventKind::kQueuePaused, "queue_paused"},
    {EventKind::kQueueResumed, "queue_resumed"},
    {EventKind::kCheckpointRefused, "checkpoint_refused"},
    {EventKind::kStateDamaged, "state_damaged"},
    {EventKind::kWorkerDeleted, "worker_deleted"},
    {EventKind::kLeaseForgotten, "lease_forgotten"},
    {EventKind::kWorkerFlapping, "worker_flapping"},
    {EventKind::kWorkerProbation, "worker_probation"},
    {EventKind::kWorkerCordonWithheld, "worker_cordon_withheld"},
    {EventKind::kSecretChanged, "secret_changed"},
    {EventKind::kSecretUsed, "secret_used"},
    {EventKind::kTaskSkipped, "task_skipped"},
    {EventKind::kSignalReceived, "signal_received"},
    {EventKind::kApprovalRequested, "approval_requested"},
    {EventKind::kTaskApproved, "task_approved"},
    {EventKind::kTaskRejected, "task_rejected"},
    {EventKind::kFinallyStarted, "finally_started"},
    {EventKind::kScheduleSet, "schedule_set"},
    {EventKind::kScheduleRemoved, "schedule_removed"},
    {EventKind::kSchedulePaused, "schedule_paused"},
    {EventKind::kScheduleResumed, "schedule_resumed"},
    {EventKind::kScheduleTriggered, "schedule_triggered"},
    {EventKind::kSlotStarted, "slot_started"},
    {EventKind::kSlotQueued, "slot_queued"},
    {EventKind::kSlotSkipped, "slot_skipped"},
    {EventKind::kSlotsMissed, "slots_missed"},
    {EventKind::kRunWaits, "run_waits"},
    {EventKind::kRunBegan, "run_began"},
    {EventKind::kRunSkipped, "run_skipped"},
    {EventKind::kLimitChanged, "limit_changed"},
    {EventKind::kChildStarted, "child_started"},
    {EventKind::kChildEnded, "child_ended"},
    {EventKind::kRunStarted, "run_started"},
});

enum class Severity : std::uint8_t { kInfo, kWarning, kError };
template <>
inline constexpr auto kWords<Severity> = words<Severity>({
    {Severity::kInfo, "INFO"},
    {Severity::kWarning, "WARN"},
    {Severity::kError, "ERROR"},
});

using EventValue = std::variant<std::int64_t, std::string>;
using EventField = std::pair<const char*, EventValue>;  // the key is a literal

struct Event {
  std::uint64_t seq = 0;
  Instant at;
  EventKind kind = EventKind::kHealthPass;
  Severity severity = Severity::kInfo;
  WorkerId worker;
  std::optional<TaskId> task;
  std::string task_name;  // of its node, as its DAG calls it; empty: no task
  std::optional<RunId> run;
  std::vector<EventField> data;
};

}  // namespace vortex
