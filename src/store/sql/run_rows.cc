#include "store/sql/run_rows.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {

RunRows::RunRows(Session& db, Known& known, PlanShelf& shelf, Packer& packer)
    : known_(known),
      shelf_(shelf),
      packer_(packer),
      insert_(db.prepare("insert_run")),
      update_(db.prepare("update_run")),
      insert_label_(db.prepare("insert_run_label")),
      insert_spec_(db.prepare("insert_spec")),
      mark_applied_(db.prepare("mark_spec_applied")),
      count_uses_(db.prepare("count_spec_uses")),
      delete_spec_(db.prepare("delete_spec_if_unused")),
      delete_uses_(db.prepare("delete_uses_if_none")),
      write_dag_(db.prepare("write_dag")),
      delete_dag_(db.prepare("delete_dag")),
      write_schedule_(db.prepare("write_schedule")),
      delete_schedule_(db.prepare("delete_schedule")),
      spare_(db.prepare("spare_run")),
      write_signal_(db.prepare("write_signal")) {}

void RunRows::write(Transaction& tx, const Commit& commit) {
  new_runs_.clear();
  new_uses_.clear();
  for (const DagRow& row : commit.dags) write_dag(tx, row);
  for (const ScheduleRow& row : commit.rows.schedules) write_schedule(tx, row);
  for (const RunRow& row : commit.rows.runs) write_run(tx, row);
  for (const auto& [digest, runs] : new_uses_) {
    tx.run(count_uses_.start().unsigned_number(digest).number(runs));
  }
  for (const SignalRow& row : commit.rows.signals) tx.run(bind_row(write_signal_, row));
}

void RunRows::write_run(Transaction& tx, const RunRow& row) {
  if (!tx.ok()) return;
  if (!known_.live.contains(row.id.value) && insert(tx, row)) return note(row, true);
  Error missing{Fault::kBadRequest, fmt::format("{} does not exist", to_text(row.id))};
  if (tx.run_on_row(bind_changes(update_, row), std::move(missing))) note(row, false);
}

bool RunRows::insert(Transaction& tx, const RunRow& row) {
  if (!row.plan) return false;
  write_spec(tx, row.plan);
  bind_row(insert_, row).unsigned_number(row.plan->digest).text(row.plan->spec.name);
  if (row.id.value > known_.highest_run) {
    // Nobody has written it before, so the answer need not be waited for.
    Error there{Fault::kDamaged, fmt::format("{} is there already", to_text(row.id))};
    if (!tx.run_on_row(insert_, std::move(there))) return false;
    known_.highest_run = row.id.value;
    insert_labels(tx, row);
    return true;
  }
  if (!tx.run(insert_) || insert_.changes() == 0) return false;
  insert_labels(tx, row);
  if (known_.doomed_runs > 0) {
    tx.run(spare_.start().unsigned_number(row.id.value));
    known_.doomed_runs -= static_cast<std::uint64_t>(spare_.changes());
  }
  return true;
}

void RunRows::insert_labels(Transaction& tx, const RunRow& row) {
  if (!row.request) return;
  for (const auto& [name, value] : row.request->labels) {
    tx.run(insert_label_.start().text(name).text(value).unsigned_number(row.id.value));
  }
}

void RunRows::note(const RunRow& row, bool inserted) {
  const bool was_live = known_.live.contains(row.id.value);
  const bool is_live = row.state == RunState::kRunning;
  if (inserted) {
    new_runs_.insert(row.id.value);
    ++new_uses_[row.plan->digest];
  }
  if (!inserted && !was_live && is_live) --known_.finished_runs;
  if ((inserted || was_live) && !is_live) ++known_.finished_runs;
  if (!is_live) {
    known_.live.erase(row.id.value);
  } else if (row.plan) {
    known_.live[row.id.value] = {.digest = row.plan->digest, .plan = row.plan};
  }
}

void RunRows::write_spec(Transaction& tx, const PlanPtr& of_run) {
  if (known_.digests.contains(of_run->digest)) return;
  const PlanPtr plan = unexpanded(of_run);
  const std::string json = plan_json(*plan);
  insert_spec_.start()
      .unsigned_number(plan->digest)
      .text(plan->spec.name)
      .unsigned_number(plan->nodes.size())
      .number(plan->tasks)
      .number(plan->levels)
      .blob(packer_.pack(json));
  if (!tx.run(insert_spec_)) return;
  known_.digests.insert(plan->digest);
  shelf_.put(plan);
}

void RunRows::release_spec(Transaction& tx, std::uint64_t digest) {
  tx.run(count_uses_.start().unsigned_number(digest).number(-1));
  tx.run(delete_spec_.start().unsigned_number(digest));
  if (!tx.ok()) return;
  if (delete_spec_.changes() > 0) known_.digests.erase(digest);
  tx.run(delete_uses_.start().unsigned_number(digest));
}

void RunRows::write_dag(Transaction& tx, const DagRow& row) {
  if (row.deleted) {
    tx.run(delete_dag_.start().text(row.name));
    return;
  }
  if (!row.plan) {
    return tx.fail({Fault::kBadRequest, fmt::format("DAG '{}' has no definition", row.name)});
  }
  write_spec(tx, row.plan);
  tx.run(mark_applied_.start().unsigned_number(row.plan->digest));
  tx.run(bind_row(write_dag_, row).unsigned_number(row.plan->digest));
}

void RunRows::write_schedule(Transaction& tx, const ScheduleRow& row) {
  if (row.removed) {
    tx.run(delete_schedule_.start().text(row.dag));
    return;
  }
  if (!row.plan) {
    return tx.fail({Fault::kBadRequest, fmt::format("schedule '{}' has no definition", row.dag)});
  }
  write_spec(tx, row.plan);
  tx.run(mark_applied_.start().unsigned_number(row.plan->digest));
  tx.run(bind_row(write_schedule_, row).unsigned_number(row.plan->digest));
}

namespace {

// Pieces are kept small enough that a cut wastes little and a read unpacks little.
constexpr std::uint64_t kPieceBytes = 64 * 1024;

}  // namespace

LogRows::LogRows(Session& db, Packer& packer, LogLimits limits)
    : packer_(packer),
      limits_(limits),
      find_head_(db.prepare("find_log_head")),
      write_head_(db.prepare("write_log_head")),
      insert_chunk_(db.prepare("insert_log_chunk")),
      cut_chunks_(db.prepare("cut_log_chunks")) {}

void LogRows::write(Transaction& tx, const std::vector<LogChunk>& chunks, LogHeads heads) {
  for (const LogChunk& chunk : chunks) write_chunk(tx, chunk, heads);
}

// What was written of an attempt so far.
LogSpan LogRows::head_of(Transaction& tx, std::int64_t key, Epoch epoch, const LogHeads& heads) {
  const auto known = heads.find({key, epoch.value});
  if (known != heads.end()) return known->second;
  LogSpan span;
  Rows rows(find_head_.start().number(key).unsigned_number(epoch.value));
  if (rows.next()) {
    span = {.size = rows.unsigned_number(),
            .cut_begin = rows.unsigned_number(),
            .cut_end = rows.unsigned_number()};
  }
  if (rows.failed()) tx.fail(rows.error());
  return span;
}

void LogRows::write_chunk(Transaction& tx, const LogChunk& chunk, LogHeads& heads) {
  if (!tx.ok()) return;
  const auto key = key_of(chunk.attempt.task);
  if (!key) {
    return tx.fail({Fault::kBadRequest, "output of a task that cannot exist"});
  }
  const LogSpan span = head_of(tx, *key, chunk.attempt.epoch, heads);
  if (!tx.ok()) return;
  if (chunk.offset > span.size) {
    return tx.fail({Fault::kBadRequest,
                    fmt::format("output of {} at byte {} would leave a gap: {} bytes have arrived",
                                to_text(chunk.attempt.task), chunk.offset, span.size)});
  }
  const std::uint64_t known = std::min<std::uint64_t>(span.size - chunk.offset, chunk.data.size());
  const std::string_view fresh = std::string_view(chunk.data).substr(known);
  if (fresh.empty()) return;
  insert(tx, *key, chunk.attempt.epoch, span.size, fresh);
  const LogSpan after = grown(span, fresh.size(), limits_);
  heads[{*key, chunk.attempt.epoch.value}] = after;
  if (after.cut_end != span.cut_end) cut(tx, *key, chunk.attempt.epoch, after);
  tx.run(write_head_.start()
             .number(*key)
             .unsigned_number(chunk.attempt.epoch.value)
             .unsigned_number(after.size)
             .unsigned_number(after.cut_begin)
             .unsigned_number(after.cut_end));
}

void LogRows::insert(Transaction& tx, std::int64_t key, Epoch epoch, std::uint64_t offset,
                     std::string_view data) {
  while (!data.empty() && tx.ok()) {
    std::uint64_t size = std::min<std::uint64_t>(data.size(), kPieceBytes);
    // No piece lies across the end of the head: it could never be cut.
    if (offset < limits_.head_bytes) size = std::min(size, limits_.head_bytes - offset);
    const std::string_view piece = data.substr(0, size);
    const std::string_view packed = packer_.pack(piece);
    tx.run(insert_chunk_.start()
               .number(key)
               .unsigned_number(epoch.value)
               .unsigned_number(offset)
               .unsigned_number(size)
               .blob(packed.size() < piece.size() ? packed : piece));
    offset += size;
    data.remove_prefix(size);
  }
}

void LogRows::cut(Transaction& tx, std::int64_t key, Epoch epoch, const LogSpan& span) {
  tx.run(cut_chunks_.start()
             .number(key)
             .unsigned_number(epoch.value)
             .unsigned_number(span.cut_begin)
             .unsigned_number(span.cut_end));
}

}  // namespace vortex::store::sql
