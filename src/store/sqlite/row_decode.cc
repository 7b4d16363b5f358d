#include "store/sqlite/row_decode.h"

#include <charconv>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/row_json.h"

namespace vortex::store::sqlite {
namespace {

template <class Enum>
Enum take_text(Rows& rows) {
  const std::string_view text = rows.view();
  if (const auto value = from_text<Enum>(text)) return *value;
  rows.damaged(fmt::format("'{}'", text));
  return {};
}

}  // namespace

TaskState take_task_state(Rows& rows) { return take_text<TaskState>(rows); }

TaskRow take_task(Rows& rows) {
  TaskRow row;
  const std::int64_t key = rows.number();
  row.state = take_task_state(rows);
  if (rows.is_null()) {
    rows.skip();
  } else {
    row.level = rows.u32();
  }
  row.id = task_of(key, row.level.value_or(0));
  row.worker.text = rows.view();
  row.epoch = {rows.unsigned_number()};
  row.counters.attempts = rows.u16();
  row.updated_at = rows.time();
  row.incarnation = {rows.unsigned_number()};
  row.ready_at = rows.micros();
  row.started_at = rows.micros();
  row.percent = rows.u8();
  row.exit_code = static_cast<std::int32_t>(rows.number());
  row.stop = take_enum<StopReason>(rows);
  row.counters.failures = rows.u16();
  row.counters.crashes = rows.u16();
  row.counters.stalls = rows.u16();
  row.counters.releases = rows.u16();
  row.counters.unstarted = rows.u16();
  row.recovery = {rows.unsigned_number()};
  row.previous_worker.text = rows.view();
  row.step = rows.view();
  row.error_message = rows.view();
  row.granted_at = rows.micros();
  row.node = rows.u32();
  row.created_at = rows.time();
  return row;
}

StoredRun take_run(Rows& rows) {
  StoredRun stored;
  RunRow& row = stored.row;
  row.id = {rows.unsigned_number()};
  row.state = take_run_state(rows);
  row.ending = take_enum<RunEnding>(rows);
  row.paused = rows.flag();
  row.levels_passed = rows.u32();
  row.finished_at = rows.time();
  row.timeout_at = rows.time();
  if (const std::string_view stopped = rows.view(); !stopped.empty()) {
    auto numbers = read_numbers(stopped);
    if (!numbers) rows.damaged(fmt::format("'{}'", stopped));
    row.stopped = std::move(numbers).value_or(std::vector<std::uint32_t>{});
  }
  row.made = take_counts(rows);
  row.created_at = rows.time();
  stored.digest = rows.unsigned_number();
  auto request = std::make_shared<RunRequest>();
  request->idempotency_key = rows.text();
  request->digest = rows.unsigned_number();
  request->labels = take_labels(rows);
  request->params = rows.text();
  row.request = std::move(request);
  return stored;
}

namespace {

// Numbers separated by commas; what cannot be read ends the list.
std::vector<Instant> take_times(Rows& rows) {
  std::vector<Instant> times;
  std::string_view text = rows.view();
  while (!text.empty()) {
    Instant at;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), at.us);
    if (problem != std::errc{}) break;
    times.push_back(at);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return times;
}

}  // namespace

WorkerRow take_worker(Rows& rows) {
  WorkerRow row;
  auto info = std::make_shared<WorkerInfo>();
  info->id.text = rows.view();
  row.state = take_text<WorkerState>(rows);
  row.last_heartbeat = rows.time();
  row.registered_at = rows.time();
  row.incarnation = {rows.unsigned_number()};
  row.suspect = rows.flag();
  row.cordoned = rows.flag();
  row.times_lost = rows.u32();
  row.lost_lately = take_times(rows);
  row.end_told = {rows.unsigned_number()};
  if (rows.is_null()) {
    rows.skip();
  } else {
    row.drain_within = Duration{rows.number()};
  }
  info->name = rows.text();
  info->machine.text = rows.view();
  info->zone = rows.text();
  info->group = rows.text();
  info->address = rows.text();
  info->version = rows.text();
  info->metadata = rows.text();
  info->slots = rows.u32();
  const std::string_view abilities = rows.view();
  if (!read_abilities(abilities, *info)) rows.damaged(fmt::format("'{}'", abilities));
  row.info = std::move(info);
  return row;
}

std::optional<CheckpointRef> take_uploaded(Rows& rows) {
  const CheckpointRef uploaded{.number = rows.unsigned_number(), .bytes = rows.unsigned_number()};
  return uploaded.number == 0 ? std::nullopt : std::optional(uploaded);
}

MachineRow take_machine(Rows& rows) {
  MachineRow row;
  row.id.text = rows.view();
  row.online = rows.flag();
  row.since = rows.time();
  return row;
}

QueueRow take_queue(Rows& rows) {
  QueueRow row;
  row.name = rows.text();
  row.paused = rows.flag();
  return row;
}

PartitionLeaseRow take_lease(Rows& rows) {
  PartitionLeaseRow row;
  row.partition.topic = rows.text();
  row.partition.partition = rows.u32();
  row.holder.text = rows.view();
  row.epoch = {rows.unsigned_number()};
  row.expires_at = rows.time();
  return row;
}

DeadLetterRow take_dead_letter(Rows& rows) {
  DeadLetterRow row;
  const std::int64_t key = rows.number();
  row.attempt.epoch = {rows.unsigned_number()};
  row.reason = take_text<DeathReason>(rows);
  row.state = take_enum<DeadLetterState>(rows);
  row.at = {rows.number()};
  row.message = rows.text();
  row.attempt.task = task_of(key, take_level(rows));
  return row;
}

CounterRow take_counters(Rows& rows) {
  CounterRow row;
  row.next_run = {rows.unsigned_number()};
  row.next_recovery = {rows.unsigned_number()};
  row.next_event = rows.unsigned_number();
  for (std::uint64_t& count : row.tasks) count = rows.unsigned_number();
  row.lease_floor = {rows.unsigned_number()};
  return row;
}

Labels take_labels(Rows& rows) {
  const std::string_view json = rows.view();
  if (json.empty()) return {};
  auto labels = read_labels(json);
  if (!labels) rows.damaged(fmt::format("'{}'", json));
  return std::move(labels).value_or(Labels{});
}

RunState take_run_state(Rows& rows) { return take_text<RunState>(rows); }

TaskCounts take_counts(Rows& rows) {
  TaskCounts counts{};
  for (std::uint32_t& count : counts) count = rows.u32();
  return counts;
}

std::uint32_t take_level(Rows& rows) { return rows.u32(); }

}  // namespace vortex::store::sqlite
