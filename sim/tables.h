#pragma once
// What the simulated database holds: one ordered table per kind of row, keyed as the rows say.
//
// Applying a batch is all or nothing by construction; failures are the store's business
// (sim/store.h). Applying the same batch twice changes nothing the second time.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/rows.h"

namespace vortex::sim {

class Tables {
 public:
  void apply(const RowBatch& rows);

  // All that a new leader needs.
  StoreImage image() const;
  std::optional<RunImage> run_image(RunId run) const;

  const std::map<RunId, RunRow>& runs() const { return runs_; }
  const std::map<TaskId, TaskRow>& tasks() const { return tasks_; }
  const std::map<WorkerId, WorkerRow>& workers() const { return workers_; }
  const std::map<std::pair<RecoveryId, TaskId>, RecoveryItemRow>& recovery_items() const {
    return recovery_items_;
  }
  const std::map<RecoveryId, RecoveryRow>& recoveries() const { return recoveries_; }
  const std::map<Attempt, DeadLetterRow>& dead_letters() const { return dead_letters_; }
  const std::map<Attempt, AttemptRow>& attempts() const { return attempts_; }
  const std::map<std::string, QueueRow>& queues() const { return queues_; }
  std::uint32_t live_runs() const { return live_runs_; }

 private:
  void apply_runs(const RowBatch& rows);
  void apply_task_data(const TaskDataRow& row);

  std::map<RunId, RunRow> runs_;
  std::map<TaskId, TaskRow> tasks_;
  std::map<TaskId, TaskDataRow> task_data_;
  std::map<Attempt, AttemptRow> attempts_;
  std::map<WorkerId, WorkerRow> workers_;
  std::map<MachineId, MachineRow> machines_;
  std::map<RecoveryId, RecoveryRow> recoveries_;
  std::map<std::pair<RecoveryId, TaskId>, RecoveryItemRow> recovery_items_;
  std::map<Attempt, DeadLetterRow> dead_letters_;
  std::map<PartitionKey, PartitionLeaseRow> leases_;
  std::map<std::string, QueueRow> queues_;
  std::map<std::string, JournalRow> journals_;
  CounterRow counters_;
  std::uint32_t live_runs_ = 0;
};

}  // namespace vortex::sim
