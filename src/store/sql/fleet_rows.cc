#include "store/sql/fleet_rows.h"

#include <string>
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

FleetRows::FleetRows(Session& db, Known& known, Packer& packer)
    : known_(known),
      packer_(packer),
      update_worker_(db.prepare("update_worker")),
      upsert_worker_(db.prepare("upsert_worker")),
      machine_(db.prepare("write_machine")),
      recovery_(db.prepare("write_recovery")),
      recovery_item_(db.prepare("write_recovery_item")),
      dead_letter_(db.prepare("write_dead_letter")),
      lease_(db.prepare("write_lease")),
      queue_(db.prepare("write_queue")),
      limit_(db.prepare("write_limit")),
      delete_limit_(db.prepare("delete_limit")),
      journal_(db.prepare("write_journal")),
      delete_journal_(db.prepare("delete_journal")),
      token_(db.prepare("write_token")),
      webhook_(db.prepare("write_webhook")),
      delete_webhook_(db.prepare("delete_webhook")),
      step_webhook_(db.prepare("step_webhook")),
      seal_webhook_(db.prepare("seal_webhook")),
      secret_(db.prepare("write_secret")),
      secret_version_(db.prepare("write_secret_version")),
      delete_secret_version_(db.prepare("delete_secret_version")),
      rewrap_secret_version_(db.prepare("rewrap_secret_version")),
      delete_worker_(db.prepare("delete_worker")),
      delete_machine_(db.prepare("delete_machine")),
      delete_lease_(db.prepare("delete_lease")),
      counters_(db.prepare("write_counters")),
      audit_(db.prepare("write_audit")),
      events_(db.prepare("insert_events")) {}

void FleetRows::write(Transaction& tx, const Commit& commit) {
  forget(tx, commit.rows);
  for (const WorkerRow& row : commit.rows.workers) write_worker(tx, row);
  write_recoveries(tx, commit.rows);
  for (const DeadLetterRow& row : commit.rows.dead_letters) write_dead_letter(tx, row);
  write_small(tx, commit);
  write_webhooks(tx, commit);
  write_secrets(tx, commit);
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
  const auto known = known_.workers.find(std::string_view(info.id.text));
  if (known != known_.workers.end() && known->second == row.info) {
    tx.run(bind_changes(update_worker_, row));
    return;
  }
  if (tx.run(bind_row(upsert_worker_, row))) {
    known_.workers.insert_or_assign(info.id.text, row.info);
  }
}

void FleetRows::write_recoveries(Transaction& tx, const RowBatch& rows) {
  for (const RecoveryRow& row : rows.recoveries) tx.run(bind_row(recovery_, row));
  for (const RecoveryItemRow& row : rows.recovery_items) {
    if (!key_of(row.task)) return tx.fail(no_such_task(row.task));
    tx.run(bind_row(recovery_item_, row));
  }
}

void FleetRows::write_dead_letter(Transaction& tx, const DeadLetterRow& row) {
  if (!key_of(row.attempt.task)) return tx.fail(no_such_task(row.attempt.task));
  tx.run(bind_row(dead_letter_, row));
}

void FleetRows::write_small(Transaction& tx, const Commit& commit) {
  for (const MachineRow& row : commit.rows.machines) tx.run(bind_row(machine_, row));
  for (const PartitionLeaseRow& row : commit.rows.leases) tx.run(bind_row(lease_, row));
  for (const QueueRow& row : commit.rows.queues) tx.run(bind_row(queue_, row));
  for (const LimitRow& row : commit.rows.limits) {
    tx.run(row.removed ? delete_limit_.start().text(row.name) : bind_row(limit_, row));
  }
  for (const JournalRow& row : commit.rows.journals) {
    tx.run(row.forgotten ? delete_journal_.start().text(row.supervisor) : bind_row(journal_, row));
  }
  for (const TokenRow& row : commit.tokens) tx.run(bind_row(token_, row));
  for (const AuditRow& row : commit.audit) tx.run(bind_row(audit_, row));
  if (commit.rows.counters) tx.run(bind_changes(counters_, *commit.rows.counters));
}

void FleetRows::write_webhooks(Transaction& tx, const Commit& commit) {
  for (const WebhookRow& row : commit.webhooks) {
    tx.run(row.deleted ? delete_webhook_.start().text(row.name) : bind_row(webhook_, row));
  }
  for (const WebhookStep& step : commit.webhook_steps) {
    WebhookRow row;
    row.name = step.name;
    row.created_at = step.created_at;
    row.progress = step.progress;
    tx.run(bind_changes(step_webhook_, row));
  }
  for (const WebhookSeal& seal : commit.webhook_seals) {
    tx.run(seal_webhook_.start().text(seal.name).time(seal.created_at).text(seal.secret));
  }
}

void FleetRows::write_secrets(Transaction& tx, const Commit& commit) {
  for (const SecretChange& change : commit.secrets) {
    tx.run(bind_row(secret_, change.row));
    for (const SecretVersionRow& row : change.versions) {
      tx.run(row.gone ? delete_secret_version_.start().text(row.name).number(row.version)
                      : bind_row(secret_version_, row));
    }
  }
  for (const SecretRewrap& rewrap : commit.rewraps) {
    SecretVersionRow row;
    row.name = rewrap.name;
    row.version = rewrap.version;
    row.key_id = rewrap.key_id;
    row.wrapped_key = rewrap.wrapped_key;
    tx.run(bind_changes(rewrap_secret_version_, row));
  }
}

void FleetRows::write_events(Transaction& tx, const Commit& commit) {
  tx.run(events_.start()
             .unsigned_number(commit.events.first_seq)
             .unsigned_number(commit.events.last_seq)
             .number(commit.now.us)
             .blob(packer_.pack(commit.events.lines)));
}

}  // namespace vortex::store::sql
