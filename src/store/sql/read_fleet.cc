#include <limits>
#include <string>

#include "store/keys.h"
#include "store/packed.h"
#include "store/sql/reader.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {
namespace {

WorkerView take_view(Rows& rows) {
  WorkerView view;
  view.row = take_row<WorkerRow>(rows);
  view.held = rows.u32();
  view.completed = rows.unsigned_number();
  view.ended = rows.unsigned_number();
  return view;
}

CursorKey key_of_lease(const PartitionLeaseRow& row) {
  return {.first = row.partition.partition, .text = row.partition.topic};
}

std::uint64_t take_count(Rows& rows) { return rows.unsigned_number(); }

}  // namespace

Result<Page<WorkerView>> SqlReader::workers(const WorkerFilter& filter, const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kWorkers, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const std::string after = *cursor ? (*cursor)->text : std::string{};
  Statement& statement = sql_.worker_page;
  statement.start().text(after);
  if (filter.state) {
    statement.literal(to_text(*filter.state));
  } else {
    statement.null();
  }
  statement.text_or_null(filter.zone)
      .text_or_null(filter.group)
      .text_or_null(filter.machine)
      .flag(filter.live_only)
      .flag(filter.active_only)
      .number(limit + 1);
  return read_page<WorkerView>(
      statement, limit, CursorKind::kWorkers, take_view,
      [](const WorkerView& view) { return CursorKey{.text = view.row.info->id.text}; });
}

Result<std::optional<WorkerView>> SqlReader::worker(const WorkerId& id) {
  return read_one<WorkerView>(sql_.one_worker.start().text(id.text), take_view);
}

Result<std::vector<MachineRow>> SqlReader::machines() {
  return read_all<MachineRow>(sql_.all_machines.start(), take_row<MachineRow>);
}

Result<std::vector<QueueRow>> SqlReader::queues() {
  return read_all<QueueRow>(sql_.all_queues.start(), take_row<QueueRow>);
}

Result<Page<PartitionLeaseRow>> SqlReader::leases(const std::string& topic,
                                                  const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kLeases, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const std::int64_t after = *cursor ? static_cast<std::int64_t>((*cursor)->first) : -1;
  if (!topic.empty()) {
    sql_.lease_page_of_topic.start().text(topic).number(after).number(limit + 1);
    return read_page<PartitionLeaseRow>(sql_.lease_page_of_topic, limit, CursorKind::kLeases,
                                        take_row<PartitionLeaseRow>, key_of_lease);
  }
  const std::string after_topic = *cursor ? (*cursor)->text : std::string{};
  sql_.lease_page.start().text(after_topic).number(after).number(limit + 1);
  return read_page<PartitionLeaseRow>(sql_.lease_page, limit, CursorKind::kLeases,
                                      take_row<PartitionLeaseRow>, key_of_lease);
}

Result<std::optional<PartitionLeaseRow>> SqlReader::lease(const PartitionKey& key) {
  return read_one<PartitionLeaseRow>(sql_.one_lease.start().text(key.topic).number(key.partition),
                                     take_row<PartitionLeaseRow>);
}

Result<EventLines> SqlReader::events_after(std::uint64_t after, std::uint32_t bytes_max) {
  sql_.events_from.start().unsigned_number(after + 1);
  Rows rows(sql_.events_from);
  EventLines lines;
  while (lines.lines.size() < bytes_max && rows.next()) {
    const std::uint64_t first = rows.unsigned_number();
    const std::uint64_t last = rows.unsigned_number();
    const auto block = unpack(rows.view());
    if (!block) {
      rows.damaged("a block of events cannot be unpacked");
      break;
    }
    if (lines.first_seq == 0) lines.first_seq = first;
    lines.last_seq = last;
    lines.lines += *block;
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return lines;
}

Result<std::string> SqlReader::attempt_key() {
  auto keys = read_all<std::string>(sql_.attempt_key.start(),
                                    [](Rows& rows) { return std::string(rows.view()); });
  if (!keys) return std::unexpected(keys.error());
  if (keys->empty()) return std::unexpected(Error{Fault::kDamaged, "cluster_keys is empty"});
  return keys->front();
}

Result<std::vector<TokenRow>> SqlReader::tokens() {
  return read_all<TokenRow>(sql_.all_tokens.start(), take_row<TokenRow>);
}

Result<std::vector<WebhookRow>> SqlReader::webhooks() {
  return read_all<WebhookRow>(sql_.all_webhooks.start(), take_row<WebhookRow>);
}

// Entries are looked at one by one, a bounded number a page: a filter that fits nothing costs no
// more than one that fits everything.
Result<Page<AuditRow>> SqlReader::audit(const AuditFilter& filter, const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kAudit, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  Statement& statement = filter.after ? sql_.audit_after : sql_.audit_before;
  statement.start();
  if (*cursor) {
    statement.unsigned_number((*cursor)->first);
  } else {
    statement.number(filter.after ? static_cast<std::int64_t>(*filter.after) : kBeforeAll);
  }
  statement.number(kPageRowsMax);
  Rows rows(statement);
  Page<AuditRow> found;
  std::uint64_t last = 0;
  std::uint32_t seen = 0;
  bool more = false;
  for (; rows.next(); ++seen) {
    if (found.items.size() == limit) {
      more = true;
      break;
    }
    AuditRow row = take_row<AuditRow>(rows);
    last = row.seq;
    if (!filter.after && row.at < filter.since) break;
    if (!rows.take_damage() && is_wanted(row, filter)) found.items.push_back(std::move(row));
  }
  if (rows.failed()) return std::unexpected(rows.error());
  if (more || seen == kPageRowsMax) {
    found.next_cursor = write_cursor(CursorKind::kAudit, {.first = last});
  }
  return found;
}

Result<std::vector<SecretRow>> SqlReader::secrets() {
  return read_all<SecretRow>(sql_.all_secrets.start(), take_row<SecretRow>);
}

Result<std::optional<SecretRow>> SqlReader::secret(const std::string& name) {
  return read_one<SecretRow>(sql_.one_secret.start().text(name), take_row<SecretRow>);
}

Result<std::vector<SecretVersionRow>> SqlReader::secret_versions(const std::string& name) {
  return read_all<SecretVersionRow>(sql_.secret_versions.start().text(name),
                                    take_row<SecretVersionRow>);
}

Result<std::optional<SecretVersionRow>> SqlReader::secret_version(const std::string& name,
                                                                  std::uint32_t version) {
  return read_one<SecretVersionRow>(sql_.secret_version.start().text(name).number(version),
                                    take_row<SecretVersionRow>);
}

Result<std::optional<Leader>> SqlReader::leader() {
  return read_one<Leader>(sql_.leader.start(), [](Rows& rows) {
    Leader leader;
    leader.id = ControllerId(rows.text());
    leader.url = rows.text();
    leader.term = {rows.unsigned_number()};
    leader.since = {rows.number()};
    return leader;
  });
}

Result<std::vector<ControllerRow>> SqlReader::controllers() {
  return read_all<ControllerRow>(sql_.all_controllers.start(), take_row<ControllerRow>);
}

Result<Totals> SqlReader::totals(Instant now) {
  const Snapshot snapshot(*db_);
  const auto counters = read_one<CounterRow>(sql_.counters.start(), take_row<CounterRow>);
  if (!counters) return std::unexpected(counters.error());
  const auto requeued =
      read_one<std::uint64_t>(sql_.requeued_since.start().time(now - hours(1)), take_count);
  if (!requeued) return std::unexpected(requeued.error());
  const auto letters = read_one<std::uint64_t>(sql_.count_open_dead_letters.start(), take_count);
  if (!letters) return std::unexpected(letters.error());
  Totals totals;
  totals.counters = counters->value_or(CounterRow{});
  totals.requeued_last_hour = requeued->value_or(0);
  totals.open_dead_letters = letters->value_or(0);
  return totals;
}

namespace {

RecoveryView take_recovery(Rows& rows) { return {take_row<RecoveryRow>(rows)}; }

DeadLetterView take_letter(Rows& rows) {
  DeadLetterView view;
  view.row = take_row_of_task<DeadLetterRow>(rows);
  view.level = view.row.attempt.task.level;
  view.name = rows.text();
  view.dag = rows.text();
  return view;
}

CursorKey key_of_letter(const DeadLetterView& view) {
  return {.first = static_cast<std::uint64_t>(view.row.at.us),
          .second = static_cast<std::uint64_t>(key_of(view.row.attempt.task).value_or(0)),
          .third = view.row.attempt.epoch.value};
}

}  // namespace

Result<Page<RecoveryView>> SqlReader::recoveries(const RecoveryFilter& filter,
                                                 const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kRecoveries, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const std::int64_t before = *cursor ? static_cast<std::int64_t>((*cursor)->first) : kBeforeAll;
  Statement& statement = filter.task     ? sql_.recoveries_of_task
                         : filter.worker ? sql_.recoveries_of_worker
                                         : sql_.recoveries_by_id;
  statement.start().number(before).number(limit + 1);
  if (filter.task) {
    const auto key = key_of(*filter.task);
    if (!key) return Page<RecoveryView>{};
    statement.number(*key);
    if (!filter.worker) statement.null();
  }
  if (filter.worker) statement.text(filter.worker->text);
  return read_page<RecoveryView>(
      statement, limit, CursorKind::kRecoveries, take_recovery,
      [](const RecoveryView& view) { return CursorKey{.first = view.row.id.value}; });
}

Result<std::optional<RecoveryView>> SqlReader::recovery(RecoveryId id) {
  return read_one<RecoveryView>(sql_.one_recovery.start().unsigned_number(id.value), take_recovery);
}

Result<Page<RecoveryItemRow>> SqlReader::recovery_items(RecoveryId id, const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kRecoveryItems, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  sql_.recovery_item_page.start()
      .unsigned_number(id.value)
      .number(*cursor ? static_cast<std::int64_t>((*cursor)->first) : -1)
      .number(limit + 1);
  return read_page<RecoveryItemRow>(
      sql_.recovery_item_page, limit, CursorKind::kRecoveryItems, take_row_of_task<RecoveryItemRow>,
      [](const RecoveryItemRow& row) {
        return CursorKey{.first = static_cast<std::uint64_t>(key_of(row.task).value_or(0))};
      });
}

Result<Page<DeadLetterView>> SqlReader::dead_letters(const DeadLetterFilter& filter,
                                                     const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kDeadLetters, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  Statement& statement = filter.run     ? sql_.dead_letters_of_run
                         : filter.state ? sql_.dead_letters_by_state
                                        : sql_.dead_letters_by_time;
  statement.start();
  if (*cursor) {
    statement.unsigned_number((*cursor)->first)
        .unsigned_number((*cursor)->second)
        .unsigned_number((*cursor)->third);
  } else {
    statement.number(kBeforeAll).number(kBeforeAll).number(kBeforeAll);
  }
  statement.number(limit + 1);
  if (filter.state) {
    statement.number(static_cast<std::int64_t>(*filter.state));
  } else if (filter.run) {
    statement.null();
  }
  if (filter.run) {
    const KeyRange keys = keys_of(*filter.run);
    statement.number(keys.first).number(keys.end);
  }
  return read_page<DeadLetterView>(statement, limit, CursorKind::kDeadLetters, take_letter,
                                   key_of_letter);
}

}  // namespace vortex::store::sql
