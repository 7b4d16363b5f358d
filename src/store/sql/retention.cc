#include "store/sql/retention.h"

#include <algorithm>
#include <optional>

namespace vortex::store::sql {

RetentionRows::RetentionRows(Session& db, Known& known, RunRows& runs)
    : known_(known),
      runs_(runs),
      oldest_(db.prepare("oldest_finished_runs")),
      forget_(db.prepare("forget_run")),
      forget_labels_(db.prepare("forget_run_labels")),
      doom_(db.prepare("doom_run")),
      spare_(db.prepare("spare_run")),
      next_doomed_(db.prepare("next_doomed")),
      oldest_events_(db.prepare("oldest_events")),
      delete_events_(db.prepare("delete_events")),
      oldest_recovery_(db.prepare("oldest_recovery")),
      delete_items_(db.prepare("delete_recovery_items")),
      delete_recovery_(db.prepare("delete_recovery")),
      sweep_audit_(db.prepare("sweep_audit")) {
  for (const std::string_view slice :
       {"sweep_log_chunks", "sweep_log_heads", "sweep_checkpoint_pieces", "sweep_attempts",
        "sweep_task_data", "sweep_dead_letters", "sweep_recovery_items", "sweep_signals",
        "sweep_tasks"}) {
    slices_.push_back(&db.prepare(slice));
  }
}

void RetentionRows::forget(Transaction& tx, const std::vector<RunId>& expired) {
  for (const RunId run : expired) forget_run(tx, run);
}

void RetentionRows::forget_run(Transaction& tx, RunId run) {
  if (!tx.ok()) return;
  std::optional<std::uint64_t> digest;
  {
    forget_.start().unsigned_number(run.value);
    Rows rows(forget_);
    if (rows.next()) digest = rows.unsigned_number();
    while (rows.next()) {
    }
    if (rows.failed()) return tx.fail(rows.error());
  }
  if (!digest) return;  // not kept, or live again
  tx.run(forget_labels_.start().unsigned_number(run.value));
  tx.run(doom_.start().unsigned_number(run.value));
  runs_.release_spec(tx, *digest);
  --known_.finished_runs;
  ++known_.doomed_runs;
}

Result<std::vector<ExpiredRun>> RetentionRows::expirable(const Retention& keep, Instant now,
                                                         std::uint32_t limit) {
  std::uint64_t too_many = 0;
  if (keep.runs_max > 0 && known_.finished_runs > keep.runs_max) {
    too_many = known_.finished_runs - keep.runs_max;
  }
  oldest_.start().number(limit);
  Rows rows(oldest_);
  std::vector<ExpiredRun> expired;
  while (rows.next()) {
    const RunId run{rows.unsigned_number()};
    const Instant finished_at = rows.time();
    const bool too_old = keep.runs_for > Duration{} && finished_at < now - keep.runs_for;
    if (!too_old && expired.size() >= too_many) break;
    expired.push_back({.run = run, .idempotency_key = rows.text()});
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return expired;
}

bool RetentionRows::sweep(Transaction& tx, const Retention& keep, Instant now, std::uint32_t rows) {
  std::uint32_t left = std::max(rows, std::uint32_t{1});
  while (left > 0 && known_.doomed_runs > 0 && tx.ok()) {
    const std::uint64_t run = next_doomed(tx);
    left -= sweep_run(tx, run, left);
    if (left == 0 || !tx.ok()) break;
    tx.run(spare_.start().unsigned_number(run));
    --known_.doomed_runs;
  }
  if (keep.events_for > Duration{}) left -= sweep_events(tx, now - keep.events_for, left);
  if (keep.recoveries_for > Duration{} && left > 0) {
    left -= sweep_recoveries(tx, now - keep.recoveries_for, left);
  }
  if (keep.audit_for > Duration{} && left > 0) {
    tx.run(sweep_audit_.start().number((now - keep.audit_for).us).number(left));
    left -= static_cast<std::uint32_t>(sweep_audit_.changes());
  }
  return left == 0;
}

std::uint32_t RetentionRows::sweep_run(Transaction& tx, std::uint64_t run, std::uint32_t budget) {
  const KeyRange keys = keys_of({run});
  std::uint32_t removed = 0;
  for (Statement* slice : slices_) {
    if (removed == budget) break;
    slice->start().number(keys.first).number(keys.end).number(budget - removed);
    if (!tx.run(*slice)) break;
    removed += static_cast<std::uint32_t>(slice->changes());
  }
  return removed;
}

std::uint32_t RetentionRows::sweep_events(Transaction& tx, Instant before, std::uint32_t budget) {
  std::uint32_t removed = 0;
  while (removed < budget && tx.ok()) {
    std::int64_t first = 0;
    {
      oldest_events_.start();
      Rows rows(oldest_events_);
      if (!rows.next()) break;
      first = rows.number();
      if (rows.number() >= before.us) break;
    }
    tx.run(delete_events_.start().number(first));
    ++removed;
  }
  return removed;
}

std::uint32_t RetentionRows::sweep_recoveries(Transaction& tx, Instant before,
                                              std::uint32_t budget) {
  std::uint32_t removed = 0;
  while (removed < budget && tx.ok()) {
    std::int64_t oldest = 0;
    {
      oldest_recovery_.start();
      Rows rows(oldest_recovery_);
      if (!rows.next()) break;
      oldest = rows.number();
      if (rows.time() >= before) break;
    }
    if (!tx.run(delete_items_.start().number(oldest).number(budget - removed))) break;
    removed += static_cast<std::uint32_t>(delete_items_.changes());
    if (removed == budget) break;
    tx.run(delete_recovery_.start().number(oldest));
    ++removed;
  }
  return removed;
}

std::uint64_t RetentionRows::next_doomed(Transaction& tx) {
  next_doomed_.start();
  Rows rows(next_doomed_);
  if (rows.next()) return rows.unsigned_number();
  tx.fail(rows.failed() ? rows.error() : Error{Fault::kDamaged, "a forgotten run is missing"});
  return 0;
}

}  // namespace vortex::store::sql
