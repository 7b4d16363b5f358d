#pragma once
// One line of the monitor log: what happened, to whom, when. Written only after its commit.
//
// Names are append-only; the first group is the contract's (CONTRACT M06), to be grepped for.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

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
  kCount,
};

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

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

std::string_view to_text(EventKind);
std::string_view to_text(Severity);

}  // namespace vortex
