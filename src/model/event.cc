#include "model/event.h"

#include <array>
#include <cstddef>

#include "base/assert.h"

namespace vortex {
namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(EventKind::kCount);

// Each kind beside its text, so that a line in the wrong place can be told from one in the right.
constexpr std::array<std::pair<EventKind, std::string_view>, kKinds> kKindTexts{{
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
}};

consteval bool every_kind_at_its_place() {
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (kKindTexts[i].first != static_cast<EventKind>(i) || kKindTexts[i].second.empty()) {
      return false;
    }
  }
  return true;
}
static_assert(every_kind_at_its_place());

}  // namespace

std::string_view to_text(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  VX_ASSERT(index < kKinds);
  return kKindTexts[index].second;
}

std::string_view to_text(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
    case Severity::kError:
      return "ERROR";
  }
  VX_ASSERT(false && "a value outside Severity");
}

}  // namespace vortex
