#include "store/sql/check.h"

#include <fmt/format.h>

#include "model/rows.h"
#include "store/packed.h"
#include "store/plan_shelf.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {
namespace {

constexpr std::size_t kNamedMax = 20;  // of one kind

constexpr std::string_view kRules[] = {
    "check_run_counts",    "check_lost_tasks",   "check_definitions",   "check_uses",
    "check_live_counters", "check_next_numbers", "check_held",          "check_logs",
    "check_doomed",        "check_ended_runs",   "check_levels_passed", "check_task_levels",
};

using Unreadable = std::vector<UnreadableRow>;

// Reads every row of a statement and names those that cannot be read.
template <class Take, class Name>
Result<void> decode(Session& db, std::string_view statement, Unreadable& damaged, Take take,
                    Name name) {
  Rows rows(db.prepare(statement).start());
  std::size_t found = 0;
  while (rows.next()) {
    const auto row = take(rows);
    const auto damage = rows.take_damage();
    if (!damage || ++found > kNamedMax) continue;
    const std::string id = name(row);
    damaged.push_back({damage->table, id,
                       to_text(DamagedRow{damage->table, id, damage->column, damage->what, {}})});
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> decode_specs(Session& db, Unreadable& damaged) {
  Rows rows(db.prepare("all_specs").start());
  while (rows.next() && damaged.size() < kNamedMax) {
    const std::uint64_t digest = rows.unsigned_number();
    const auto json = unpack(rows.view());
    if (json && plan_from_json(*json, digest)) continue;
    const std::string id = std::to_string(static_cast<std::int64_t>(digest));
    damaged.push_back({"dag_specs", id,
                       to_text(DamagedRow{"dag_specs", id, "spec", "does not contain a DAG", {}})});
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> count_rows(Session& db, CheckReport& report) {
  Rows rows(db.prepare("count_runs_and_tasks").start());
  if (rows.next()) {
    report.runs = rows.unsigned_number();
    report.tasks = rows.unsigned_number();
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

}  // namespace

Result<std::vector<UnreadableRow>> find_unreadable(Session& db) {
  Unreadable damaged;
  const auto lease = [](const PartitionLeaseRow& row) {
    return fmt::format("{}/{}", row.partition.topic, row.partition.partition);
  };
  for (const auto& done : {decode_specs(db, damaged),
                           decode(db, "all_runs", damaged, take_run,
                                  [](const StoredRun& run) { return to_text(run.row.id); }),
                           decode(db, "all_tasks", damaged, take_task,
                                  [](const TaskRow& row) { return to_text(row.id); }),
                           decode(db, "all_workers", damaged, take_row<WorkerRow>,
                                  [](const WorkerRow& row) { return row.info->id.text; }),
                           decode(db, "all_machines", damaged, take_row<MachineRow>,
                                  [](const MachineRow& row) { return row.id.text; }),
                           decode(db, "all_leases", damaged, take_row<PartitionLeaseRow>, lease),
                           decode(db, "all_queues", damaged, take_row<QueueRow>,
                                  [](const QueueRow& row) { return row.name; }),
                           decode(db, "all_schedules", damaged, take_schedule,
                                  [](const StoredSchedule& stored) { return stored.row.dag; }),
                           decode(db, "read_counters", damaged, take_row<CounterRow>,
                                  [](const CounterRow&) { return std::string("1"); })}) {
    if (!done) return std::unexpected(done.error());
  }
  return damaged;
}

Result<void> collect(Session& db, std::string_view statement, std::vector<std::string>& lines) {
  Rows rows(db.prepare(statement).start());
  while (rows.next()) lines.push_back(rows.text());
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

// All rules look at one committed state, while a controller may go on writing.
Result<void> check(Session& db, CheckReport& report) {
  const Snapshot snapshot(db);
  for (const std::string_view rule : kRules) {
    if (auto done = collect(db, rule, report.problems); !done) return done;
  }
  const auto damaged = find_unreadable(db);
  if (!damaged) return std::unexpected(damaged.error());
  for (const UnreadableRow& row : *damaged) report.problems.push_back(row.text);
  return count_rows(db, report);
}

}  // namespace vortex::store::sql
