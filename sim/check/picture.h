#pragma once
// The committed state of one history, rebuilt from its facts and nothing else.
//
// `apply` takes each fact before the checkers see it: rows are then as they are after the commit,
// and as they were before it through RowTable::find_before. What is derived (nodes, loads, grants)
// is kept one change at a time, so a commit costs what it wrote.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/rows.h"
#include "sim/check/holdings.h"
#include "sim/check/row_table.h"
#include "sim/check/run_nodes.h"
#include "sim/history.h"

namespace vortex::sim {

// How attempts at one task ended in one commit. More than one can: a grant that was taken back in
// the same transaction.
struct EndedAttempts {
  std::uint32_t failures = 0;
  std::uint32_t stalls = 0;
  std::uint32_t releases = 0;
  std::uint32_t lost = 0;
  std::uint32_t lost_started = 0;  // of the lost: the start had been reported
};

// The commit granted the task: it is held under an epoch that was not held before.
bool is_new_grant(const RowChange<TaskRow>& change);

// The processes of one attempt, on whatever hosts.
struct AttemptProcesses {
  std::uint32_t started = 0;
  std::uint32_t live = 0;
};

class Picture {
 public:
  void apply(Instant true_time, const Fact& fact);

  const RowTable<RunId, RunRow>& runs() const { return runs_; }
  const RowTable<TaskId, TaskRow>& tasks() const { return tasks_; }
  const RowTable<Attempt, AttemptRow>& attempts() const { return attempts_; }
  const RowTable<WorkerId, WorkerRow>& workers() const { return workers_; }
  const RowTable<MachineId, MachineRow>& machines() const { return machines_; }
  const RowTable<RecoveryId, RecoveryRow>& recoveries() const { return recoveries_; }
  using ItemKey = std::pair<RecoveryId, TaskId>;
  const RowTable<ItemKey, RecoveryItemRow>& items() const { return items_; }
  const RowTable<Attempt, DeadLetterRow>& dead_letters() const { return dead_letters_; }
  const RowTable<PartitionKey, PartitionLeaseRow>& leases() const { return leases_; }
  const RowTable<std::string, QueueRow>& queues() const { return queues_; }
  const Holdings& holdings() const { return holdings_; }

  // When a commit let go of this finished run, in true time; kNever: not yet. Its rows stay here.
  Instant forgotten_at(RunId run) const;
  bool any_forgotten() const { return !forgotten_.empty(); }

  const RunNodes* nodes(RunId run) const;  // null: no such run
  // The definition of a task; null when its run or node is not known.
  const NodeSpec* spec_of(const TaskRow& task) const;
  // To whom this epoch was granted first; null: to nobody, as far as commits tell.
  const Holder* granted_to(const Attempt& attempt) const;
  // Attempts that ended in the newest commit, by task.
  const std::map<TaskId, EndedAttempts>& ended() const { return ended_; }

  // The newest commit logs that an operator runs these tasks again.
  const std::set<TaskId>& acts() const { return acted_on_; }
  bool acted_on(TaskId task) const { return acted_on_.contains(task); }
  // The newest commit logs that for a task of this run that had failed.
  bool revived_in(RunId run) const { return revived_in_.contains(run); }

  AttemptProcesses processes(const Attempt& attempt) const;
  const ProcessStarted* process(std::uint64_t id) const;
  bool any_process_told() const { return !process_of_.empty(); }

 private:
  void apply_commit(Instant true_time, const Committed& commit);
  void begin_commit();
  void put_rows(const Committed& commit);
  void end_forgotten(const Committed& commit);
  void note_acts(const Committed& commit);
  void count_tasks();
  void note_grants(const RowBatch& rows);
  void note_ended();
  void start_process(const ProcessStarted& started);
  void end_process(const ProcessEnded& ended);

  RowTable<RunId, RunRow> runs_;
  RowTable<TaskId, TaskRow> tasks_;
  RowTable<Attempt, AttemptRow> attempts_;
  RowTable<WorkerId, WorkerRow> workers_;
  RowTable<MachineId, MachineRow> machines_;
  RowTable<RecoveryId, RecoveryRow> recoveries_;
  RowTable<ItemKey, RecoveryItemRow> items_;
  RowTable<Attempt, DeadLetterRow> dead_letters_;
  RowTable<PartitionKey, PartitionLeaseRow> leases_;
  RowTable<std::string, QueueRow> queues_;
  std::map<RunId, Instant> forgotten_;
  Holdings holdings_;
  std::map<RunId, RunNodes> nodes_;
  std::map<Attempt, Holder> grants_;
  std::map<TaskId, EndedAttempts> ended_;
  std::set<TaskId> acted_on_;
  std::set<RunId> revived_in_;
  std::map<Attempt, AttemptProcesses> processes_;
  std::map<std::uint64_t, ProcessStarted> process_of_;
};

}  // namespace vortex::sim
