#include "store/postgres/task_sets.h"

#include "store/keys.h"
#include "store/sql/record_io.h"

namespace vortex::store::postgres {

using store::sql::bind_changes;
using store::sql::bind_row;
using store::sql::Rows;
using store::sql::Transaction;

TaskSets::TaskSets(Session& db, store::sql::Known& known, const store::sql::RunRows& runs)
    : single_(db, known, runs),
      update_(db, "update_tasks"),
      upsert_(db, "upsert_tasks"),
      data_(db, "write_task_data_set"),
      attempts_(db, "insert_attempts"),
      present_(db, "present_tasks") {}

void TaskSets::write(Transaction& tx, const RowBatch& rows) {
  single_.begin();
  for (RowSet* set : {&update_, &upsert_, &data_, &attempts_, &present_}) set->clear();
  tasks_seen_.clear();
  data_seen_.clear();
  attempts_seen_.clear();
  updated_.clear();
  added_.clear();
  again_tasks_.clear();
  again_data_.clear();
  again_attempts_.clear();
  for (const TaskRow& row : rows.tasks) add_task(tx, row);
  for (const TaskDataRow& row : rows.task_data) add_data(tx, row);
  for (const AttemptRow& row : rows.attempts) add_attempt(tx, row);
  attempts_.keep_rows();
  for (RowSet* set : {&update_, &upsert_, &data_, &attempts_}) {
    if (set->rows() > 0) tx.run(*set);
  }
  check_updates(tx);
  check_attempts(tx);
  attempts_.reset();
  for (const TaskRow* row : again_tasks_) single_.write_task(tx, *row);
  for (const TaskDataRow* row : again_data_) single_.write_data(tx, *row);
  for (const AttemptRow* row : again_attempts_) single_.write_attempt(tx, *row);
  single_.end(tx);
}

void TaskSets::add_task(Transaction& tx, const TaskRow& row) {
  const auto key = key_of(row.id);
  if (!key || !tasks_seen_.insert(*key).second) {
    again_tasks_.push_back(&row);  // one that is impossible is refused there
    return;
  }
  if (!single_.looks_new(row)) {
    bind_changes(update_, row);
    updated_.push_back(&row);
    return;
  }
  const auto identity = single_.identity_of(tx, row);
  if (tx.ok()) bind_row(upsert_, row).text(identity.id).text(identity.name);
}

void TaskSets::add_data(Transaction& tx, const TaskDataRow& row) {
  const auto key = key_of(row.id);
  if (!key || !data_seen_.insert(*key).second) {
    again_data_.push_back(&row);
    return;
  }
  bind_row(data_, row);
  single_.drop_pieces(tx, *key, row);
}

void TaskSets::add_attempt(Transaction& tx, const AttemptRow& row) {
  const auto key = key_of(row.attempt.task);
  if (!key || !attempts_seen_.emplace(*key, row.attempt.epoch.value).second) {
    again_attempts_.push_back(&row);
    return;
  }
  const std::int64_t number = single_.worker_number(tx, row.worker);
  bind_row(attempts_, row).number(number);
  added_.emplace_back(&row, number);
}

// Tasks that were not there, or with another level.
void TaskSets::check_updates(Transaction& tx) {
  if (updated_.empty() || !tx.ok()) return;
  if (update_.changes() == std::ssize(updated_) || !tx.ok()) return;
  for (const TaskRow* row : updated_) {
    present_.start().number(*key_of(row->id));
    row->level ? present_.number(*row->level) : present_.null();
  }
  present_.keep_rows();
  if (!tx.run(present_) || present_.changes() < 0) return;
  std::unordered_set<std::int64_t> there;
  {
    Rows rows(present_);
    while (rows.next()) there.insert(rows.number());
    if (rows.failed()) return tx.fail(rows.error());
  }
  for (const TaskRow* row : updated_) {
    if (!there.contains(*key_of(row->id))) single_.write_task(tx, *row);
  }
}

// Attempts that were there already are replaced, and not counted twice.
void TaskSets::check_attempts(Transaction& tx) {
  if (added_.empty() || !tx.ok()) return;
  const bool all = attempts_.changes() == std::ssize(added_);
  if (!tx.ok()) return;
  std::set<AttemptKey> made;
  if (!all) {
    Rows rows(attempts_);
    while (rows.next()) {
      const std::int64_t key = rows.number();
      made.emplace(key, rows.unsigned_number());
    }
    if (rows.failed()) return tx.fail(rows.error());
  }
  for (const auto& [row, number] : added_) {
    if (all || made.contains({*key_of(row->attempt.task), row->attempt.epoch.value})) {
      single_.count_end(number, row->verdict);
    } else {
      single_.write_attempt(tx, *row);
    }
  }
}

}  // namespace vortex::store::postgres
