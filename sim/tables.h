#pragma once
// What the simulated database holds: one ordered table per kind of row, keyed as the rows say.
//
// Applying a batch is all or nothing by construction; failures are the store's business
// (sim/store.h). Applying the same batch twice changes nothing the second time.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/commit.h"
#include "model/rows.h"
#include "sim/setup.h"

namespace vortex::sim {

class Tables {
 public:
  void apply(const RowBatch& rows);
  // Finished runs leave with their keys at once, and with their other rows when they are swept.
  void forget(std::span<const RunId> runs);
  // Removes rows of forgotten runs, at most so many. True: there are more.
  bool sweep(std::uint32_t rows);

  // Finished runs that need not be kept, oldest first.
  std::vector<ExpiredRun> expirable(const RunRetention& keep, Instant now) const;

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
  const std::map<TaskId, TaskDataRow>& task_data() const { return task_data_; }
  const std::map<Attempt, AttemptRow>& attempts() const { return attempts_; }
  const std::map<std::string, QueueRow>& queues() const { return queues_; }
  const std::map<std::string, ScheduleRow>& schedules() const { return schedules_; }
  std::uint32_t live_runs() const { return live_runs_; }

 private:
  void apply_runs(const RowBatch& rows);
  void apply_task_data(const TaskDataRow& row);
  std::uint32_t sweep_run(RunId run, std::uint32_t budget);

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
  std::map<std::pair<RunId, std::uint32_t>, SignalRow> signals_;
  std::map<std::string, ScheduleRow> schedules_;
  std::map<std::string, LimitRow> limits_;
  std::set<RunId> doomed_;  // forgotten, with rows that are still to be swept
  CounterRow counters_;
  std::uint32_t live_runs_ = 0;
};

}  // namespace vortex::sim
