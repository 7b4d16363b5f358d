#include "tests/support/memory_store/tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/keys.h"

namespace vortex::store::memory {
namespace {

std::unexpected<Error> refused(std::string why) {
  return std::unexpected(Error{Fault::kBadRequest, std::move(why)});
}

}  // namespace

Result<void> Tables::check(const Commit& commit) const {
  for (const DagRow& row : commit.dags) {
    if (!row.deleted && !row.plan) return refused("a DAG without a definition");
  }
  for (const ScheduleRow& row : commit.rows.schedules) {
    if (!row.removed && !row.plan) return refused("a schedule without a definition");
  }
  if (auto done = check_runs(commit); !done) return done;
  if (auto done = check_tasks(commit); !done) return done;
  return check_logs(commit);
}

Result<void> Tables::check_runs(const Commit& commit) const {
  std::map<std::string, RunId> taken;
  std::set<RunId> made;
  for (const RunRow& row : commit.rows.runs) {
    if (runs.contains(row.id) || made.contains(row.id)) continue;
    if (!row.plan) return refused(fmt::format("{} does not exist", to_text(row.id)));
    made.insert(row.id);
    if (!row.request || row.request->idempotency_key.empty()) continue;
    const std::string& key = row.request->idempotency_key;
    if (keys.contains(key) || !taken.emplace(key, row.id).second) {
      return refused(fmt::format("the key '{}' belongs to another run", key));
    }
  }
  return {};
}

Result<void> Tables::check_tasks(const Commit& commit) const {
  std::map<RunId, PlanPtr> made;
  for (const RunRow& row : commit.rows.runs) {
    if (!runs.contains(row.id)) made.try_emplace(row.id, row.plan);
  }
  for (const TaskRow& row : commit.rows.tasks) {
    if (!key_of(row.id)) return refused(fmt::format("{} cannot be a task", to_text(row.id)));
    if (tasks.contains(row.id)) continue;
    const auto kept = runs.find(row.id.run);
    const auto fresh = made.find(row.id.run);
    if (kept == runs.end() && fresh == made.end()) {
      return refused(fmt::format("a new task of {}, which is not kept", to_text(row.id.run)));
    }
    const PlanPtr& plan = kept != runs.end() ? kept->second.plan : fresh->second;
    if (row.node >= plan->nodes.size()) {
      return refused(fmt::format("{} has no such node", to_text(row.id)));
    }
  }
  return {};
}

Result<void> Tables::check_logs(const Commit& commit) const {
  std::map<Attempt, std::uint64_t> sizes;
  for (const LogChunk& chunk : commit.logs) {
    const auto there = logs.find(chunk.attempt);
    const auto [size, is_new] =
        sizes.try_emplace(chunk.attempt, there == logs.end() ? 0 : there->second.span.size);
    if (chunk.offset > size->second) return refused("output that would leave a gap");
    size->second = std::max(size->second, chunk.offset + chunk.data.size());
  }
  return {};
}

void Tables::apply(const Commit& commit) {
  clock = std::max(clock, commit.now);
  for (const DagRow& row : commit.dags) apply_dag(row);
  for (const ScheduleRow& row : commit.rows.schedules) apply_schedule(row);
  for (const RunRow& row : commit.rows.runs) apply_run(row);
  for (const TaskRow& row : commit.rows.tasks) apply_task(row);
  for (const TaskDataRow& row : commit.rows.task_data) apply_data(row);
  for (const CheckpointPiece& piece : commit.pieces) apply_piece(piece);
  for (const AttemptRow& row : commit.rows.attempts) apply_attempt(row);
  apply_rest(commit);
  for (const LogChunk& chunk : commit.logs) apply_log(chunk);
  for (const RunId run : commit.expired) forget(run);
}

void Tables::apply_run(const RunRow& row) {
  const auto found = runs.find(row.id);
  if (found == runs.end()) {
    StoredSpec& spec = specs[row.plan->digest];
    if (!spec.plan) spec.plan = unexpanded(row.plan);
    ++spec.runs;
    runs.emplace(row.id, row).first->second.plan = spec.plan;  // one plan, however often it came
    if (row.request && !row.request->idempotency_key.empty()) {
      keys.emplace(row.request->idempotency_key, row.id);
    }
    doomed.erase(row.id);
    return;
  }
  // What never changes about a run stays as it came first.
  RunRow& kept = found->second;
  const RunRow before = kept;
  kept = row;
  kept.plan = before.plan;
  kept.request = before.request;
  kept.created_at = before.created_at;
}

void Tables::apply_task(const TaskRow& row) {
  const auto [found, is_new] = tasks.try_emplace(row.id);
  StoredTask& task = found->second;
  const Instant created_at = task.row.created_at;
  const std::uint32_t node = task.row.node;
  task.row = row;
  task.row.id.level = row.level.value_or(0);
  if (is_new) {
    task.name = runs.at(row.id.run).plan->node_spec(row.node).name;
    return;
  }
  task.row.created_at = created_at;
  task.row.node = node;
}

void Tables::apply_data(const TaskDataRow& row) {
  TaskDataRow& kept = task_data[row.id];
  kept.id = row.id;
  kept.epoch = row.epoch;
  if (row.checkpoint) kept.checkpoint = row.checkpoint;
  if (row.outputs) kept.outputs = row.outputs;
  if (row.uploaded) kept.uploaded = row.uploaded;
  if (kept.uploaded && kept.uploaded->number == 0) kept.uploaded.reset();
  if (row.uploaded) drop_pieces(row.id, row.uploaded->number, row.uploaded->number);
}

// All pieces of the task but those of these two uploads.
void Tables::drop_pieces(TaskId task, std::uint64_t one, std::uint64_t other) {
  std::erase_if(pieces, [&](const auto& entry) {
    const auto& [key, piece] = entry;
    return piece.task == task && piece.upload != one && piece.upload != other;
  });
}

void Tables::apply_piece(const CheckpointPiece& piece) {
  if (piece.offset == 0) {
    const auto data = task_data.find(piece.task);
    const bool counts = data != task_data.end() && data->second.uploaded;
    drop_pieces(piece.task, piece.upload, counts ? data->second.uploaded->number : piece.upload);
  }
  pieces.try_emplace({piece.task, piece.upload, piece.offset}, piece);
}

void Tables::apply_attempt(const AttemptRow& row) {
  const auto found = attempts.find(row.attempt);
  if (found != attempts.end()) {
    WorkerEnds& ends = worker_ends[found->second.worker];
    --ends.ended;
    if (found->second.verdict == Verdict::kCompleted) --ends.completed;
  }
  attempts.insert_or_assign(row.attempt, row);
  WorkerEnds& ends = worker_ends[row.worker];
  ++ends.ended;
  if (row.verdict == Verdict::kCompleted) ++ends.completed;
}

void Tables::apply_log(const LogChunk& chunk) {
  StoredLog& log = logs[chunk.attempt];
  const std::uint64_t known =
      std::min<std::uint64_t>(log.span.size - chunk.offset, chunk.data.size());
  const std::string_view fresh = std::string_view(chunk.data).substr(known);
  if (fresh.empty()) return;
  const bool was_cut = log.span.has_cut();
  log.span = grown(log.span, fresh.size(), limits_);
  (was_cut ? log.tail : log.head) += fresh;
  if (!log.span.has_cut()) return;
  if (!was_cut) {
    log.tail = log.head.substr(log.span.cut_begin);
    log.head.resize(log.span.cut_begin);
  }
  const std::uint64_t kept = log.span.size - log.span.cut_end;
  log.tail.erase(0, log.tail.size() - kept);
}

void Tables::apply_dag(const DagRow& row) {
  if (row.deleted) {
    dags.erase(row.name);
    return;
  }
  StoredSpec& spec = specs[row.plan->digest];
  if (!spec.plan) spec.plan = row.plan;
  spec.applied = true;
  dags[row.name] = {.digest = row.plan->digest, .updated_at = row.updated_at};
}

void Tables::apply_schedule(const ScheduleRow& row) {
  if (row.removed) {
    schedules.erase(row.dag);
    return;
  }
  StoredSpec& spec = specs[row.plan->digest];
  if (!spec.plan) spec.plan = row.plan;
  spec.applied = true;
  schedules[row.dag] = row;
}

void Tables::apply_webhooks(const Commit& commit) {
  for (const WebhookRow& row : commit.webhooks) {
    if (row.deleted) {
      webhooks.erase(row.name);
    } else {
      webhooks.insert_or_assign(row.name, row);
    }
  }
  for (const WebhookStep& step : commit.webhook_steps) {
    const auto found = webhooks.find(step.name);
    if (found == webhooks.end() || found->second.created_at != step.created_at) continue;
    found->second.progress = step.progress;
  }
  for (const WebhookSeal& seal : commit.webhook_seals) {
    const auto found = webhooks.find(seal.name);
    if (found == webhooks.end() || found->second.created_at != seal.created_at) continue;
    found->second.secret = seal.secret;
  }
}

void Tables::apply_secrets(const Commit& commit) {
  for (const SecretChange& change : commit.secrets) {
    secrets.insert_or_assign(change.row.name, change.row);
    for (const SecretVersionRow& row : change.versions) {
      const std::pair key(row.name, row.version);
      if (row.gone) {
        secret_versions.erase(key);
        continue;
      }
      const auto [found, added] = secret_versions.try_emplace(key, row);
      found->second.key_id = row.key_id;
      found->second.wrapped_key = row.wrapped_key;
    }
  }
  for (const SecretRewrap& rewrap : commit.rewraps) {
    const auto found = secret_versions.find({rewrap.name, rewrap.version});
    if (found == secret_versions.end()) continue;
    found->second.key_id = rewrap.key_id;
    found->second.wrapped_key = rewrap.wrapped_key;
  }
}

void Tables::apply_rest(const Commit& commit) {
  const RowBatch& rows = commit.rows;
  for (const auto& id : rows.workers_gone) workers.erase(id);
  for (const auto& id : rows.machines_gone) machines.erase(id);
  for (const auto& key : rows.leases_gone) leases.erase(key);
  for (const auto& row : rows.workers) workers.insert_or_assign(row.info->id, row);
  for (const auto& row : rows.machines) machines.insert_or_assign(row.id, row);
  for (const auto& row : rows.recoveries) recoveries.insert_or_assign(row.id, row);
  for (const auto& row : rows.recovery_items) {
    recovery_items.insert_or_assign({row.recovery, row.task}, row);
  }
  for (const auto& row : rows.dead_letters) dead_letters.insert_or_assign(row.attempt, row);
  for (const auto& row : rows.leases) leases.insert_or_assign(row.partition, row);
  for (const auto& row : rows.queues) queues.insert_or_assign(row.name, row);
  for (const auto& row : rows.limits) {
    row.removed ? void(named_limits.erase(row.name)) : void(named_limits[row.name] = row);
  }
  for (const auto& row : rows.signals) signals.insert_or_assign({row.run, row.number}, row);
  for (const JournalRow& row : rows.journals) {
    row.forgotten ? void(journals.erase(row.supervisor)) : void(journals[row.supervisor] = row);
  }
  for (const auto& row : commit.tokens) tokens.insert_or_assign(row.name, row);
  for (const AuditRow& row : commit.audit) audit.insert_or_assign(row.seq, row);
  apply_webhooks(commit);
  apply_secrets(commit);
  if (rows.counters) counters = *rows.counters;
  if (commit.events.first_seq != 0) {
    events.insert_or_assign(commit.events.first_seq, StoredEvents{commit.events, commit.now});
  }
}

void Tables::forget(RunId run) {
  const auto found = runs.find(run);
  if (found == runs.end() || found->second.state == RunState::kRunning) return;
  const std::uint64_t digest = found->second.plan->digest;
  std::erase_if(keys, [run](const auto& entry) { return entry.second == run; });
  runs.erase(found);
  doomed.insert(run);
  StoredSpec& spec = specs.at(digest);
  --spec.runs;
  if (spec.runs == 0 && !spec.applied) specs.erase(digest);
}

TaskId Tables::shown(TaskId task) const {
  const auto found = tasks.find(task);
  task.level = found == tasks.end() ? 0 : found->second.row.id.level;
  return task;
}

}  // namespace vortex::store::memory
