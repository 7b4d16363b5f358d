#pragma once
// The tables of the store in memory, and how a commit changes them: checked first, then applied, so
// that a refused commit changes nothing. No locks here; the store around it has one.

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/commit.h"
#include "model/rows.h"
#include "store/error.h"
#include "store/log_span.h"
#include "store/store.h"

namespace vortex::store::memory {

struct StoredTask {
  TaskRow row;
  std::string name;
};

struct StoredSpec {
  PlanPtr plan;
  std::uint64_t runs = 0;
  bool applied = false;
};

struct StoredDag {
  std::uint64_t digest = 0;
  Instant updated_at;
};

struct StoredEvents {
  EventBlock block;
  Instant at;
};

struct StoredLog {
  LogSpan span;
  std::string head;  // from byte 0
  std::string tail;  // ends at span.size; empty until something is cut
};

struct WorkerEnds {
  std::uint64_t completed = 0;
  std::uint64_t ended = 0;
};

class Tables {
 public:
  explicit Tables(LogLimits limits) : limits_(limits) {}

  // kBadRequest: it contradicts itself or what is there; nothing may be applied.
  Result<void> check(const Commit& commit) const;
  void apply(const Commit& commit);

  std::optional<RunImage> run_image(RunId run) const;
  StoreImage image() const;
  std::vector<ExpiredRun> expirable(const Retention& keep, Instant now, std::uint32_t limit) const;
  bool sweep(const Retention& keep, Instant now, std::uint32_t rows);

  bool has_open_tasks(RunId run) const;
  bool is_doomed(TaskId task) const { return doomed.contains(task.run); }
  // The task's level as its row says; what it was called with when there is no row.
  TaskId shown(TaskId task) const;

  Term term;
  Instant clock;
  Leader leader;       // an empty id: nobody
  Instant lease_ends;  // of the leader
  std::map<ControllerId, ControllerRow> controllers;
  CounterRow counters;
  std::map<RunId, RunRow> runs;
  std::map<std::string, RunId> keys;
  std::map<std::uint64_t, StoredSpec> specs;
  std::map<std::string, StoredDag> dags;
  std::map<TaskId, StoredTask> tasks;
  std::map<TaskId, TaskDataRow> task_data;
  std::map<std::tuple<TaskId, std::uint64_t, std::uint64_t>, CheckpointPiece> pieces;
  std::map<Attempt, AttemptRow> attempts;
  std::map<WorkerId, WorkerEnds> worker_ends;
  std::map<WorkerId, WorkerRow> workers;
  std::map<MachineId, MachineRow> machines;
  std::map<RecoveryId, RecoveryRow> recoveries;
  std::map<std::pair<RecoveryId, TaskId>, RecoveryItemRow> recovery_items;
  std::map<Attempt, DeadLetterRow> dead_letters;
  std::map<PartitionKey, PartitionLeaseRow> leases;
  std::map<std::string, QueueRow> queues;
  std::map<std::pair<RunId, std::uint32_t>, SignalRow> signals;
  std::map<std::string, JournalRow> journals;
  std::map<std::string, ScheduleRow> schedules;
  std::map<std::string, LimitRow> named_limits;
  std::map<std::string, TokenRow> tokens;
  std::map<std::string, WebhookRow> webhooks;
  std::map<std::uint64_t, AuditRow> audit;
  std::map<std::string, SecretRow> secrets;
  std::map<std::pair<std::string, std::uint32_t>, SecretVersionRow> secret_versions;
  std::map<std::uint64_t, StoredEvents> events;
  std::map<Attempt, StoredLog> logs;
  std::set<RunId> doomed;

 private:
  Result<void> check_runs(const Commit& commit) const;
  Result<void> check_tasks(const Commit& commit) const;
  Result<void> check_logs(const Commit& commit) const;
  void apply_webhooks(const Commit& commit);
  void apply_secrets(const Commit& commit);
  void apply_run(const RunRow& row);
  void apply_task(const TaskRow& row);
  void apply_data(const TaskDataRow& row);
  void drop_pieces(TaskId task, std::uint64_t one, std::uint64_t other);
  void apply_piece(const CheckpointPiece& piece);
  void apply_attempt(const AttemptRow& row);
  void apply_log(const LogChunk& chunk);
  void apply_dag(const DagRow& row);
  void apply_schedule(const ScheduleRow& row);
  void apply_rest(const Commit& commit);
  void forget(RunId run);

  LogLimits limits_;
};

}  // namespace vortex::store::memory
