#include "store/sqlite/fleet_rows.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/row_json.h"
#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

std::string joined_times(const std::vector<Instant>& times) {
  std::string out;
  for (const Instant at : times) out += fmt::format("{}{}", out.empty() ? "" : ",", at.us);
  return out;
}

void bind_changing(Statement& statement, const WorkerRow& row, const std::string& lost_lately) {
  statement.start()
      .text(row.info->id.text)
      .literal(to_text(row.state))
      .time(row.last_heartbeat)
      .time(row.registered_at)
      .unsigned_number(row.incarnation.value)
      .flag(row.suspect)
      .flag(row.cordoned)
      .number(row.times_lost)
      .text(lost_lately)
      .unsigned_number(row.end_told.value);
  row.drain_within ? statement.number(row.drain_within->us) : statement.null();
}

Statement& bind_progress(Statement& statement, const std::string& name, Instant created_at,
                         const WebhookProgress& progress) {
  return statement.start()
      .text(name)
      .time(created_at)
      .unsigned_number(progress.after)
      .unsigned_number(progress.delivered)
      .unsigned_number(progress.given_up)
      .unsigned_number(progress.missed)
      .time(progress.delivered_at)
      .text(progress.trouble);
}

Error no_such_task(TaskId task) {
  return {Fault::kBadRequest, fmt::format("{} is not a valid task id", to_text(task))};
}

}  // namespace

FleetRows::FleetRows(Connection& db, Known& known, Packer& packer)
    : known_(known),
      packer_(packer),
      update_worker_(db, sql::kUpdateWorker),
      upsert_worker_(db, sql::kUpsertWorker),
      machine_(db, sql::kWriteMachine),
      recovery_(db, sql::kWriteRecovery),
      recovery_item_(db, sql::kWriteRecoveryItem),
      dead_letter_(db, sql::kWriteDeadLetter),
      lease_(db, sql::kWriteLease),
      queue_(db, sql::kWriteQueue),
      journal_(db, sql::kWriteJournal),
      delete_journal_(db, sql::kDeleteJournal),
      token_(db, sql::kWriteToken),
      webhook_(db, sql::kWriteWebhook),
      delete_webhook_(db, sql::kDeleteWebhook),
      step_webhook_(db, sql::kStepWebhook),
      delete_worker_(db, sql::kDeleteWorker),
      delete_machine_(db, sql::kDeleteMachine),
      delete_lease_(db, sql::kDeleteLease),
      counters_(db, sql::kWriteCounters),
      events_(db, sql::kInsertEvents) {}

void FleetRows::write(Transaction& tx, const Commit& commit) {
  forget(tx, commit.rows);
  for (const WorkerRow& row : commit.rows.workers) write_worker(tx, row);
  write_recoveries(tx, commit.rows);
  for (const DeadLetterRow& row : commit.rows.dead_letters) write_dead_letter(tx, row);
  write_small(tx, commit);
  write_webhooks(tx, commit);
  if (commit.rows.counters) write_counters(tx, *commit.rows.counters);
  if (commit.events.first_seq != 0) write_events(tx, commit);
}

void FleetRows::forget(Transaction& tx, const RowBatch& rows) {
  for (const WorkerId& id : rows.workers_gone) {
    tx.run(delete_worker_.start().text(id.text));
    known_.workers.erase(id.text);
  }
  for (const MachineId& id : rows.machines_gone) tx.run(delete_machine_.start().text(id.text));
  for (const PartitionKey& key : rows.leases_gone) {
    tx.run(delete_lease_.start().text(key.topic).number(key.partition));
  }
}

// A heartbeat changes a few columns; what a worker said about itself is written once per life.
void FleetRows::write_worker(Transaction& tx, const WorkerRow& row) {
  const WorkerInfo& info = *row.info;
  const std::string lost_lately = joined_times(row.lost_lately);
  const auto known = known_.workers.find(std::string_view(info.id.text));
  if (known != known_.workers.end() && known->second == row.info) {
    bind_changing(update_worker_, row, lost_lately);
    tx.run(update_worker_);
    return;
  }
  const std::string abilities = abilities_json(info);
  bind_changing(upsert_worker_, row, lost_lately);
  upsert_worker_.text(info.name)
      .text(info.machine.text)
      .text(info.zone)
      .text(info.group)
      .text(info.address)
      .text(info.version)
      .text(info.metadata)
      .number(info.slots)
      .text(abilities);
  if (tx.run(upsert_worker_)) known_.workers.insert_or_assign(info.id.text, row.info);
}

void FleetRows::write_recoveries(Transaction& tx, const RowBatch& rows) {
  for (const RecoveryRow& row : rows.recoveries) {
    tx.run(recovery_.start()
               .unsigned_number(row.id.value)
               .text(row.worker.text)
               .number(row.num_tasks)
               .time(row.at)
               .unsigned_number(row.incarnation.value)
               .literal(to_text(row.evidence)));
  }
  for (const RecoveryItemRow& row : rows.recovery_items) {
    const auto key = key_of(row.task);
    if (!key) return tx.fail(no_such_task(row.task));
    tx.run(recovery_item_.start()
               .unsigned_number(row.recovery.value)
               .number(*key)
               .unsigned_number(row.old_epoch.value)
               .unsigned_number(row.new_epoch.value)
               .text(row.old_worker.text)
               .text(row.new_worker.text)
               .number(row.attempts));
  }
}

void FleetRows::write_dead_letter(Transaction& tx, const DeadLetterRow& row) {
  const auto key = key_of(row.attempt.task);
  if (!key) return tx.fail(no_such_task(row.attempt.task));
  tx.run(dead_letter_.start()
             .number(*key)
             .unsigned_number(row.attempt.epoch.value)
             .literal(to_text(row.reason))
             .number(static_cast<std::int64_t>(row.state))
             .number(row.at.us)
             .text(row.message));
}

void FleetRows::write_small(Transaction& tx, const Commit& commit) {
  for (const MachineRow& row : commit.rows.machines) {
    tx.run(machine_.start().text(row.id.text).flag(row.online).time(row.since));
  }
  for (const PartitionLeaseRow& row : commit.rows.leases) {
    tx.run(lease_.start()
               .text(row.partition.topic)
               .number(row.partition.partition)
               .text(row.holder.text)
               .unsigned_number(row.epoch.value)
               .time(row.expires_at));
  }
  for (const QueueRow& row : commit.rows.queues) {
    tx.run(queue_.start().text(row.name).flag(row.paused));
  }
  for (const JournalRow& row : commit.rows.journals) {
    if (row.forgotten) {
      tx.run(delete_journal_.start().text(row.supervisor));
      continue;
    }
    tx.run(journal_.start()
               .text(row.supervisor)
               .text(row.journal)
               .unsigned_number(row.last)
               .number(row.at.us));
  }
  for (const TokenRow& row : commit.tokens) {
    tx.run(token_.start()
               .text(row.name)
               .number(static_cast<std::int64_t>(row.role))
               .text(row.hash)
               .time(row.created_at)
               .flag(row.revoked));
  }
}

void FleetRows::write_webhooks(Transaction& tx, const Commit& commit) {
  for (const WebhookRow& row : commit.webhooks) {
    if (row.deleted) {
      tx.run(delete_webhook_.start().text(row.name));
      continue;
    }
    tx.run(bind_progress(webhook_, row.name, row.created_at, row.progress)
               .text(row.url)
               .text(row.kinds)
               .text(row.dag)
               .text(row.secret));
  }
  for (const WebhookStep& step : commit.webhook_steps) {
    tx.run(bind_progress(step_webhook_, step.name, step.created_at, step.progress));
  }
}

void FleetRows::write_counters(Transaction& tx, const CounterRow& row) {
  counters_.start()
      .unsigned_number(row.next_run.value)
      .unsigned_number(row.next_recovery.value)
      .unsigned_number(row.next_event);
  for (const std::uint64_t count : row.tasks) counters_.unsigned_number(count);
  counters_.unsigned_number(row.lease_floor.value);
  tx.run(counters_);
}

void FleetRows::write_events(Transaction& tx, const Commit& commit) {
  tx.run(events_.start()
             .unsigned_number(commit.events.first_seq)
             .unsigned_number(commit.events.last_seq)
             .number(commit.now.us)
             .blob(packer_.pack(commit.events.lines)));
}

}  // namespace vortex::store::sqlite
