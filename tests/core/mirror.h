#pragma once
// The rows of the core as a store would keep them: each change replaces the row with its key.
//
// It also holds the core to what rows may never do: an attempt is written once, an epoch never
// goes back, and what is final stays so unless an operator revives it. After every batch the counts
// that runs and the counters keep by state are compared with the rows.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/rows.h"

namespace vortex::core {

class Mirror {
 public:
  void apply(const RowBatch& rows);

  StoreImage image() const;             // what a new leader would read
  RunImage run_image(RunId run) const;  // what is read to revive a finished run
  std::vector<TaskRow> tasks_of(RunId run) const;
  std::vector<AttemptRow> attempts_of(TaskId task) const;

  std::map<RunId, RunRow> runs;
  std::map<TaskId, TaskRow> tasks;
  std::map<TaskId, TaskDataRow> data;
  std::map<Attempt, AttemptRow> attempts;
  std::map<WorkerId, WorkerRow> workers;
  std::map<MachineId, MachineRow> machines;
  std::map<RecoveryId, RecoveryRow> recoveries;
  std::map<std::pair<RecoveryId, TaskId>, RecoveryItemRow> recovery_items;
  std::map<Attempt, DeadLetterRow> dead_letters;
  std::map<PartitionKey, PartitionLeaseRow> leases;
  std::map<std::string, QueueRow> queues;
  std::map<std::string, JournalRow> journals;
  std::map<std::pair<RunId, std::uint32_t>, SignalRow> signals;
  std::map<std::string, ScheduleRow> schedules;
  std::map<std::string, LimitRow> limits;
  CounterRow counters;

 private:
  void apply_task(const TaskRow& row);
  void apply_data(const TaskDataRow& row);
  void expect_counts() const;
};

// True when nothing would be written.
bool is_empty(const RowBatch& rows);

}  // namespace vortex::core
