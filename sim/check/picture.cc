#include "sim/check/picture.h"

#include <algorithm>
#include <variant>

namespace vortex::sim {

namespace {

// Never built from a plan, so that a task without one weighs nothing.
const Resources kNoDemand;

void count_end(EndedAttempts& ended, const AttemptRow& row, const TaskRow* before) {
  switch (row.verdict) {
    case Verdict::kCompleted:
    case Verdict::kCancelled:
    case Verdict::kChildFailed:
      return;
    case Verdict::kExitCode:
    case Verdict::kSignal:
    case Verdict::kOutOfMemory:
    case Verdict::kCouldNotStart:
      ++ended.failures;
      return;
    case Verdict::kExecutionTimeout:
    case Verdict::kStale:
      ++ended.stalls;
      return;
    case Verdict::kNotStartedInTime:
    case Verdict::kSelfFenced:
    case Verdict::kDrained:
    case Verdict::kLostInTransit:
    case Verdict::kGivenBack:
      ++ended.releases;
      return;
    case Verdict::kWorkerLost:
      ++ended.lost;
      const bool ran = before != nullptr && before->state == TaskState::kRunning &&
                       before->epoch == row.attempt.epoch;
      if (ran || row.started_at != kNever) ++ended.lost_started;
      return;
  }
}

}  // namespace

bool is_new_grant(const RowChange<TaskRow>& change) {
  if (!is_held(change.after->state)) return false;
  return !change.before || !is_held(change.before->state) ||
         change.before->epoch != change.after->epoch;
}

void Picture::apply(Instant true_time, const Fact& fact) {
  if (const auto* commit = std::get_if<Committed>(&fact)) {
    return apply_commit(true_time, *commit);
  }
  if (const auto* started = std::get_if<ProcessStarted>(&fact)) return start_process(*started);
  if (const auto* ended = std::get_if<ProcessEnded>(&fact)) return end_process(*ended);
}

void Picture::apply_commit(Instant true_time, const Committed& commit) {
  begin_commit();
  put_rows(commit);
  for (const auto& change : runs_.changes()) {
    if (!change.after->plan) continue;
    nodes_.try_emplace(change.after->id, change.after->plan).first->second.note_run(*change.after);
  }
  for (const TaskDataRow& row : commit.rows.task_data) {
    const auto nodes = nodes_.find(row.id.run);
    if (row.outputs && nodes != nodes_.end()) {
      nodes->second.note_outputs(row.id.index, *row.outputs);
    }
  }
  for (const auto& change : workers_.changes()) {
    holdings_.worker_changed(change.was(), *change.after);
  }
  count_tasks();
  note_grants(commit.rows);
  note_ended();
  note_acts(commit);
  for (const RunId run : commit.expired) forgotten_.try_emplace(run, true_time);
}

void Picture::begin_commit() {
  runs_.begin_commit();
  tasks_.begin_commit();
  attempts_.begin_commit();
  workers_.begin_commit();
  machines_.begin_commit();
  recoveries_.begin_commit();
  items_.begin_commit();
  dead_letters_.begin_commit();
  leases_.begin_commit();
  queues_.begin_commit();
  holdings_.begin_commit();
  ended_.clear();
  acted_on_.clear();
  revived_in_.clear();
}

// Whoever is forgotten had its end before, perhaps in this very commit, whose merged rows do not
// show it any more. Who left on purpose is known from the log.
void Picture::end_forgotten(const Committed& commit) {
  const RowBatch& rows = commit.rows;
  for (const WorkerId& id : rows.workers_gone) {
    const WorkerRow* row = workers_.find(id);
    if (row == nullptr || !is_present(row->state)) continue;
    WorkerRow gone = *row;
    const bool left = std::ranges::any_of(commit.events, [&](const Event& event) {
      return event.kind == EventKind::kWorkerInactive && event.worker == id;
    });
    gone.state = left ? WorkerState::kInactive : WorkerState::kOffline;
    workers_.put(id, gone);
  }
  for (const MachineId& id : rows.machines_gone) {
    const MachineRow* row = machines_.find(id);
    if (row != nullptr && row->online) machines_.put(id, {id, false, row->since});
  }
  for (const PartitionKey& key : rows.leases_gone) {
    const PartitionLeaseRow* row = leases_.find(key);
    if (row == nullptr || row->holder.empty()) continue;
    leases_.put(key, {key, AgentId{}, row->epoch, row->expires_at});
  }
}

void Picture::put_rows(const Committed& commit) {
  const RowBatch& rows = commit.rows;
  end_forgotten(commit);
  for (const RunRow& row : rows.runs) runs_.put(row.id, row);
  for (const TaskRow& row : rows.tasks) tasks_.put(row.id, row);
  for (const AttemptRow& row : rows.attempts) attempts_.put(row.attempt, row);
  for (const WorkerRow& row : rows.workers) workers_.put(row.info->id, row);
  for (const MachineRow& row : rows.machines) machines_.put(row.id, row);
  for (const RecoveryRow& row : rows.recoveries) recoveries_.put(row.id, row);
  for (const RecoveryItemRow& row : rows.recovery_items) items_.put({row.recovery, row.task}, row);
  for (const DeadLetterRow& row : rows.dead_letters) dead_letters_.put(row.attempt, row);
  for (const PartitionLeaseRow& row : rows.leases) leases_.put(row.partition, row);
  for (const QueueRow& row : rows.queues) queues_.put(row.name, row);
}

void Picture::count_tasks() {
  for (const auto& change : tasks_.changes()) {
    const NodeSpec* spec = spec_of(*change.after);
    holdings_.task_changed(change.was(), *change.after,
                           spec != nullptr ? spec->requirements.resources : kNoDemand);
    const auto nodes = nodes_.find(change.after->id.run);
    if (nodes != nodes_.end()) nodes->second.count(change.was(), *change.after);
  }
}

// An attempt granted and taken back in one transaction shows only where it ended.
void Picture::note_grants(const RowBatch& rows) {
  for (const TaskRow& row : rows.tasks) {
    if (is_held(row.state)) grants_.try_emplace({row.id, row.epoch}, row.worker, row.incarnation);
  }
  for (const AttemptRow& row : rows.attempts) {
    grants_.try_emplace(row.attempt, row.worker, row.incarnation);
  }
}

void Picture::note_ended() {
  for (const auto& change : attempts_.changes()) {
    const TaskId task = change.after->attempt.task;
    count_end(ended_[task], *change.after, tasks_.find_before(task));
  }
}

void Picture::note_acts(const Committed& commit) {
  for (const Event& event : commit.events) {
    const bool act = event.kind == EventKind::kTaskRedriven || event.kind == EventKind::kTaskRetry;
    if (!act || !event.task) continue;
    acted_on_.insert(*event.task);
    const TaskRow* before = tasks_.find_before(*event.task);
    if (before != nullptr && before->state == TaskState::kFailed)
      revived_in_.insert(before->id.run);
  }
  // One that failed and was run again within this commit.
  for (const auto& change : dead_letters_.changes()) {
    const TaskId task = change.after->attempt.task;
    const bool redriven = change.after->state == DeadLetterState::kRedriven;
    if (redriven && acted_on_.contains(task)) revived_in_.insert(task.run);
  }
}

Instant Picture::forgotten_at(RunId run) const {
  const auto found = forgotten_.find(run);
  return found == forgotten_.end() ? kNever : found->second;
}

const RunNodes* Picture::nodes(RunId run) const {
  const auto found = nodes_.find(run);
  return found == nodes_.end() ? nullptr : &found->second;
}

const NodeSpec* Picture::spec_of(const TaskRow& task) const {
  const auto found = nodes_.find(task.id.run);
  if (found == nodes_.end()) return nullptr;
  const DagPlan& plan = found->second.plan();
  return task.node < plan.nodes.size() ? &plan.node_spec(task.node) : nullptr;
}

const Holder* Picture::granted_to(const Attempt& attempt) const {
  const auto found = grants_.find(attempt);
  return found == grants_.end() ? nullptr : &found->second;
}

void Picture::start_process(const ProcessStarted& started) {
  process_of_.try_emplace(started.process, started);
  AttemptProcesses& of = processes_[started.attempt];
  ++of.started;
  ++of.live;
}

void Picture::end_process(const ProcessEnded& ended) {
  const auto found = process_of_.find(ended.process);
  if (found != process_of_.end()) --processes_[found->second.attempt].live;
}

AttemptProcesses Picture::processes(const Attempt& attempt) const {
  const auto found = processes_.find(attempt);
  return found == processes_.end() ? AttemptProcesses{} : found->second;
}

const ProcessStarted* Picture::process(std::uint64_t id) const {
  const auto found = process_of_.find(id);
  return found == process_of_.end() ? nullptr : &found->second;
}

}  // namespace vortex::sim
