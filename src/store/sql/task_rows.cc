#include "store/sql/task_rows.h"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {
namespace {

Error no_such_task(TaskId task) {
  return {Fault::kBadRequest, fmt::format("{} is not a valid task id", to_text(task))};
}

}  // namespace

TaskRows::TaskRows(Session& db, Known& known, const RunRows& runs)
    : known_(known),
      runs_(runs),
      update_(db.prepare("update_task")),
      upsert_(db.prepare("upsert_task")),
      write_data_(db.prepare("write_task_data")),
      drop_pieces_(db.prepare("drop_checkpoint_pieces")),
      drop_unfinished_(db.prepare("drop_unfinished_pieces")),
      insert_piece_(db.prepare("insert_checkpoint_piece")),
      insert_attempt_(db.prepare("insert_attempt")),
      find_attempt_(db.prepare("find_attempt")),
      delete_attempt_(db.prepare("delete_attempt")),
      find_number_(db.prepare("find_worker_number")),
      insert_number_(db.prepare("insert_worker_number")),
      count_ends_(db.prepare("count_worker_ends")) {}

void TaskRows::begin() {
  last_run_ = {};
  last_plan_ = nullptr;
  last_new_ = false;
  ends_.clear();
}

void TaskRows::write(Transaction& tx, const RowBatch& rows) {
  begin();
  for (const TaskRow& row : rows.tasks) write_task(tx, row);
  for (const TaskDataRow& row : rows.task_data) write_data(tx, row);
  for (const AttemptRow& row : rows.attempts) write_attempt(tx, row);
  end(tx);
}

void TaskRows::end(Transaction& tx) {
  for (const auto& [number, ends] : ends_) {
    tx.run(count_ends_.start().number(number).number(ends.completed).number(ends.ended));
  }
}

bool TaskRows::looks_new(const TaskRow& row) {
  if (row.id.run != last_run_) {
    last_run_ = row.id.run;
    last_plan_ = nullptr;
    last_new_ = runs_.is_new(row.id.run);
  }
  return last_new_ || row.created_at == row.updated_at;
}

void TaskRows::write_task(Transaction& tx, const TaskRow& row) {
  if (!tx.ok()) return;
  if (!key_of(row.id)) return tx.fail(no_such_task(row.id));
  if (!looks_new(row)) {
    if (!tx.run(bind_changes(update_, row)) || update_.changes() > 0) return;
  }
  upsert(tx, row);
}

void TaskRows::upsert(Transaction& tx, const TaskRow& row) {
  const Identity identity = identity_of(tx, row);
  if (tx.ok()) tx.run(bind_row(upsert_, row).text(identity.id).text(identity.name));
}

TaskRows::Identity TaskRows::identity_of(Transaction& tx, const TaskRow& row) {
  const DagPlan* plan = plan_of(tx, row.id.run);
  if (plan == nullptr) return {};
  if (row.node >= plan->nodes.size()) {
    tx.fail(no_such_task(row.id));
    return {};
  }
  return {to_text(TaskId{.run = row.id.run, .index = row.id.index, .level = row.level.value_or(0)}),
          plan->node_spec(row.node).name};
}

const DagPlan* TaskRows::plan_of(Transaction& tx, RunId run) {
  if (last_plan_) return last_plan_.get();
  auto plan = known_.plan_of(run.value);
  if (!plan) {
    tx.fail(std::move(plan.error()));
    return nullptr;
  }
  last_plan_ = *std::move(plan);
  return last_plan_.get();
}

void TaskRows::write_data(Transaction& tx, const TaskDataRow& row) {
  const auto key = key_of(row.id);
  if (!key) return tx.fail(no_such_task(row.id));
  tx.run(bind_row(write_data_, row));
  drop_pieces(tx, *key, row);
}

void TaskRows::drop_pieces(Transaction& tx, std::int64_t key, const TaskDataRow& row) {
  if (!row.uploaded) return;
  tx.run(drop_pieces_.start().number(key).unsigned_number(row.uploaded->number));
}

void TaskRows::write_pieces(Transaction& tx, const std::vector<CheckpointPiece>& pieces) {
  for (const CheckpointPiece& piece : pieces) {
    const auto key = key_of(piece.task);
    if (!key) return tx.fail(no_such_task(piece.task));
    if (piece.offset == 0) {
      tx.run(drop_unfinished_.start().number(*key).unsigned_number(piece.upload));
    }
    tx.run(insert_piece_.start()
               .number(*key)
               .unsigned_number(piece.upload)
               .unsigned_number(piece.offset)
               .unsigned_number(piece.size)
               .blob(piece.data));
  }
}

void TaskRows::write_attempt(Transaction& tx, const AttemptRow& row) {
  if (!tx.ok()) return;
  const auto key = key_of(row.attempt.task);
  if (!key) return tx.fail(no_such_task(row.attempt.task));
  const std::int64_t number = worker_number(tx, row.worker);
  bind_row(insert_attempt_, row).number(number);
  if (!tx.run(insert_attempt_)) return;
  if (insert_attempt_.changes() == 0) {
    take_back(tx, *key, row);
    if (!tx.run(insert_attempt_)) return;
  }
  count_end(number, row.verdict);
}

void TaskRows::count_end(std::int64_t worker, Verdict verdict) {
  Ends& ends = ends_[worker];
  ++ends.ended;
  if (verdict == Verdict::kCompleted) ++ends.completed;
}

// An attempt is written once; a repeated one replaces it and must not be counted twice.
void TaskRows::take_back(Transaction& tx, std::int64_t key, const AttemptRow& row) {
  find_attempt_.start().number(key).unsigned_number(row.attempt.epoch.value);
  {
    Rows rows(find_attempt_);
    if (rows.next()) {
      Ends& ends = ends_[rows.number()];
      --ends.ended;
      if (rows.number() == static_cast<std::int64_t>(Verdict::kCompleted)) --ends.completed;
    }
    if (rows.failed()) return tx.fail(rows.error());
  }
  tx.run(delete_attempt_.start().number(key).unsigned_number(row.attempt.epoch.value));
}

std::int64_t TaskRows::worker_number(Transaction& tx, const WorkerId& worker) {
  const auto found = known_.worker_numbers.find(std::string_view(worker.text));
  if (found != known_.worker_numbers.end()) return found->second;
  std::int64_t number = 0;
  for (Statement* statement : {&find_number_, &insert_number_}) {
    statement->start().text(worker.text);
    Rows rows(*statement);
    if (rows.next()) number = rows.number();
    while (rows.next()) {
    }
    if (rows.failed()) tx.fail(rows.error());
    if (number != 0 || rows.failed()) break;
  }
  known_.worker_numbers.emplace(worker.text, number);
  return number;
}

}  // namespace vortex::store::sql
