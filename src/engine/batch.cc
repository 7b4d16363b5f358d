#include "engine/batch.h"

#include <iterator>
#include <utility>

#include "base/planted.h"

namespace vortex::engine {
namespace {

// Indexes stay below 2^24 (settings: max_tasks_per_run), so one number names a task.
std::uint64_t key_of(TaskId id) { return id.run.value << 24U | id.index; }

template <class Row>
void append(std::vector<Row>& to, std::vector<Row>& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
}

template <class Row>
void put(std::vector<Row>& to, std::size_t place, bool is_new, Row& row) {
  if (is_new) {
    to.push_back(std::move(row));
  } else {
    to[place] = std::move(row);
  }
}

template <class Row, class KeyOf>
void merge(std::vector<Row>& to, KeyIndex& at, std::vector<Row>& from, KeyOf key) {
  for (Row& row : from) {
    const auto [place, is_new] = at.find_or_add(key(row), to.size());
    put(to, place, is_new, row);
  }
}

void merge(std::vector<WorkerRow>& to, std::map<std::string, std::size_t>& at,
           std::vector<WorkerRow>& from) {
  for (WorkerRow& row : from) {
    const auto [known, is_new] = at.try_emplace(row.info->id.text, to.size());
    put(to, known->second, is_new, row);
  }
}

}  // namespace

void Batch::add(core::Effects&& effects, Instant now) {
  commit_.now = now;
  add_rows(std::move(effects.rows));
  for (Event& event : effects.events) {
    if (commit_.events.first_seq == 0) commit_.events.first_seq = event.seq;
    commit_.events.last_seq = event.seq;
    if (write_event_ != nullptr) write_event_(commit_.events.lines, event);
    events.push_back(std::move(event));
  }
  append(commit_.dags, effects.dags);
  append(replies, effects.replies);
  append(probes, effects.probes);
  append(samples, effects.samples);
  self_check = self_check || effects.self_check;
}

void Batch::add_rows(RowBatch&& rows) {
  RowBatch& to = commit_.rows;
  drop_forgotten(rows);
  merge(to.tasks, task_at_, rows.tasks, [](const TaskRow& row) { return key_of(row.id); });
  merge(to.runs, run_at_, rows.runs, [](const RunRow& row) { return row.id.value; });
  merge(to.workers, worker_at_, rows.workers);
  append(to.task_data, rows.task_data);
  if (planted(PlantedBug::kMergeLosesOlderAttempt)) {
    for (const AttemptRow& row : rows.attempts) {
      std::erase_if(to.attempts, [&row](const AttemptRow& older) {
        return older.attempt.task == row.attempt.task;
      });
    }
  }
  append(to.attempts, rows.attempts);
  append(to.machines, rows.machines);
  append(to.recoveries, rows.recoveries);
  append(to.recovery_items, rows.recovery_items);
  append(to.dead_letters, rows.dead_letters);
  append(to.leases, rows.leases);
  append(to.queues, rows.queues);
  append(to.journals, rows.journals);
  append(to.signals, rows.signals);
  append(to.schedules, rows.schedules);
  // Few, and written with every grant that they count: the newest row of each is enough.
  for (LimitRow& row : rows.limits) {
    std::erase_if(to.limits, [&row](const LimitRow& older) { return older.name == row.name; });
    to.limits.push_back(std::move(row));
  }
  if (rows.counters) to.counters = rows.counters;
}

// What is forgotten is deleted first of all when the batch is written, so rows of it that were
// gathered earlier must go; those that come later make it anew.
void Batch::drop_forgotten(RowBatch& rows) {
  RowBatch& to = commit_.rows;
  for (const WorkerId& id : rows.workers_gone) {
    const auto at = worker_at_.find(id.text);
    if (at == worker_at_.end()) continue;
    const std::size_t place = at->second;
    worker_at_.erase(at);
    if (place + 1 < to.workers.size()) {
      to.workers[place] = std::move(to.workers.back());
      worker_at_[to.workers[place].info->id.text] = place;
    }
    to.workers.pop_back();
  }
  for (const MachineId& id : rows.machines_gone) {
    std::erase_if(to.machines, [&](const MachineRow& row) { return row.id == id; });
  }
  for (const PartitionKey& key : rows.leases_gone) {
    std::erase_if(to.leases, [&](const PartitionLeaseRow& row) { return row.partition == key; });
  }
  append(to.workers_gone, rows.workers_gone);
  append(to.machines_gone, rows.machines_gone);
  append(to.leases_gone, rows.leases_gone);
}

bool Batch::writes_nothing() const {
  return rows() == 0 && !commit_.rows.counters && commit_.events.first_seq == 0;
}

std::size_t Batch::rows() const {
  const RowBatch& r = commit_.rows;
  return r.runs.size() + r.tasks.size() + r.task_data.size() + r.attempts.size() +
         r.workers.size() + r.machines.size() + r.recoveries.size() + r.recovery_items.size() +
         r.dead_letters.size() + r.leases.size() + r.queues.size() + r.journals.size() +
         r.signals.size() + r.schedules.size() + r.limits.size() + r.workers_gone.size() +
         r.machines_gone.size() + r.leases_gone.size() + commit_.logs.size() +
         commit_.pieces.size() + commit_.tokens.size() + commit_.webhooks.size() +
         commit_.webhook_steps.size() + commit_.dags.size() + commit_.webhook_seals.size() +
         commit_.secrets.size() + commit_.rewraps.size() + commit_.audit.size() +
         commit_.expired.size();
}

const Commit& Batch::seal(Term term, Instant now) {
  commit_.term = term;
  commit_.now = now;
  return commit_;
}

}  // namespace vortex::engine
