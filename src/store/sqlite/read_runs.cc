#include <limits>
#include <string>

#include <fmt/format.h>

#include "store/packed.h"
#include "store/row_json.h"
#include "store/sqlite/read_page.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/record_io.h"

namespace vortex::store::sqlite {
namespace {

RunView take_view(Rows& rows) {
  RunView view;
  StoredRun stored = take_run(rows);
  static_cast<RunRow&>(view) = std::move(stored.row);
  view.dag_digest = stored.digest;
  view.dag = rows.text();
  view.levels = rows.u32();
  view.tasks = rows.u32();
  return view;
}

DagView take_dag(Rows& rows) {
  DagView view;
  static_cast<DagRow&>(view) = take_row<DagRow>(rows);
  view.digest = rows.unsigned_number();
  view.nodes = rows.u32();
  view.tasks = rows.u32();
  return view;
}

constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::max();

}  // namespace

Result<Page<RunView>> SqliteReader::runs(const RunFilter& filter, const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kRuns, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  // The narrowest way in: live runs are few, then a label, then a name, then a final state.
  const bool by_label = !filter.labels.empty() && filter.state != RunState::kRunning;
  Statement& statement = by_label                             ? sql_.runs_by_label
                         : filter.state == RunState::kRunning ? sql_.runs_by_state
                         : !filter.dag.empty()                ? sql_.runs_by_dag
                         : filter.state                       ? sql_.runs_by_state
                                                              : sql_.runs_by_id;
  const std::string labels = filter.labels.empty() ? std::string{} : labels_json(filter.labels);
  statement.start().number(*cursor ? static_cast<std::int64_t>((*cursor)->first) : kBeforeAll);
  if (filter.state) {
    statement.literal(to_text(*filter.state));
  } else {
    statement.null();
  }
  statement.text_or_null(filter.dag).text_or_null(labels).number(limit + 1);
  if (by_label) statement.text(filter.labels[0].first).text(filter.labels[0].second);
  return read_page<RunView>(statement, limit, CursorKind::kRuns, take_view,
                            [](const RunView& run) { return CursorKey{.first = run.id.value}; });
}

Result<std::optional<RunView>> SqliteReader::run(RunId id) {
  return read_one<RunView>(sql_.one_run.start().unsigned_number(id.value), take_view);
}

Result<PlanPtr> SqliteReader::plan(std::uint64_t digest) {
  // Asked even when the plan is at hand: what is not kept any more is not shown.
  auto packed = read_one<std::string>(sql_.spec.start().unsigned_number(digest),
                                      [](Rows& rows) { return rows.text(); });
  if (!packed) return std::unexpected(packed.error());
  if (!*packed) return PlanPtr{};
  if (PlanPtr held = shelf_.find(digest)) return held;
  const auto json = unpack(**packed);
  if (!json) {
    return std::unexpected(
        Error{Fault::kDamaged, fmt::format("cannot unpack the definition {:016x}", digest)});
  }
  auto plan = plan_from_json(*json, digest);
  if (plan) shelf_.put(*plan);
  return plan;
}

Result<Page<DagView>> SqliteReader::dags(const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kDags, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const std::string after = *cursor ? (*cursor)->text : std::string{};
  return read_page<DagView>(sql_.dag_page.start().text(after).number(limit + 1), limit,
                            CursorKind::kDags, take_dag,
                            [](const DagView& dag) { return CursorKey{.text = dag.name}; });
}

Result<std::optional<DagView>> SqliteReader::dag(const std::string& name) {
  return read_one<DagView>(sql_.one_dag.start().text(name), take_dag);
}

std::unique_ptr<Reader> make_reader(std::unique_ptr<Connection> db, PlanShelf& shelf) {
  return std::make_unique<SqliteReader>(std::move(db), shelf);
}

}  // namespace vortex::store::sqlite
