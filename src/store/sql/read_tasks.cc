#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "store/keys.h"
#include "store/packed.h"
#include "store/row_json.h"
#include "store/sql/reader.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {
namespace {

RunView take_run_view(Rows& rows) {
  RunView view;
  StoredRun stored = take_run(rows);
  static_cast<RunRow&>(view) = std::move(stored.row);
  view.dag_digest = stored.digest;
  view.dag = rows.text();
  view.levels = rows.u32();
  view.tasks = rows.u32() + late_tasks(view.late);
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

}  // namespace

// A statement holds no copy of a text: this outlives its rows.
struct SqlReader::RunQuery {
  explicit RunQuery(const RunFilter& wanted)
      : filter(wanted),
        labels(wanted.labels.empty() ? std::string{} : labels_json(wanted.labels)) {}
  const RunFilter& filter;
  std::string labels;
};

Statement& SqlReader::list_runs(const RunQuery& query, std::int64_t before, std::uint32_t rows) {
  const RunFilter& filter = query.filter;
  // The narrowest way in: the children of one run, live runs, which are few, then a label, then a
  // name, then a final state.
  const bool by_parent = filter.parent.value != 0;
  const bool by_label = !by_parent && !filter.labels.empty() && filter.state != RunState::kRunning;
  Statement& statement = by_parent                            ? sql_.runs_by_parent
                         : by_label                           ? sql_.runs_by_label
                         : filter.state == RunState::kRunning ? sql_.runs_by_state
                         : !filter.dag.empty()                ? sql_.runs_by_dag
                         : filter.state                       ? sql_.runs_by_state
                                                              : sql_.runs_by_id;
  statement.start().number(before);
  if (filter.state) {
    statement.literal(to_text(*filter.state));
  } else {
    statement.null();
  }
  statement.text_or_null(filter.dag).text_or_null(query.labels).number(rows);
  if (by_parent) statement.unsigned_number(filter.parent.value);
  if (by_label) statement.text(filter.labels[0].first).text(filter.labels[0].second);
  return statement;
}

namespace {

// A page of runs, ended by what is in it or by what was looked at for it.
class RunPage {
 public:
  RunPage(const RunFilter& filter, std::uint32_t limit) : filter_(filter), limit_(limit) {}

  // False: it is full, and the run is for the next page.
  bool take(RunView run, bool damaged) {
    const std::string_view params = run.request ? std::string_view(run.request->params) : "";
    const bool wanted = !damaged && (filter_.params.empty() || has_members(params, filter_.params));
    const bool full = wanted && (page_.items.size() == limit_ || bytes_ > Reader::kRunsBytes);
    if (full || walked_ == Reader::kRunsWalked || bytes_walked_ > Reader::kRunsBytesWalked) {
      page_.next_cursor = write_cursor(CursorKind::kRuns, {.first = last_.value});
      return false;
    }
    last_ = run.id;
    bytes_walked_ += params.size();
    if (!filter_.params.empty()) ++walked_;
    if (!wanted) return true;
    bytes_ += params.size();
    page_.items.push_back(std::move(run));
    return true;
  }

  Page<RunView>& page() { return page_; }

 private:
  Page<RunView> page_;
  const RunFilter& filter_;
  const std::uint32_t limit_;
  RunId last_;
  std::uint32_t walked_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_walked_ = 0;
};

}  // namespace

// In steps, because a driver may hold all rows of a statement at once.
Result<Page<RunView>> SqlReader::runs(const RunFilter& filter, const PageRequest& page) {
  constexpr std::uint32_t kStepMax = 50;
  const auto cursor = read_cursor(CursorKind::kRuns, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  std::int64_t before = *cursor ? static_cast<std::int64_t>((*cursor)->first) : kBeforeAll;
  const RunQuery query(filter);
  const Snapshot snapshot(*db_);
  RunPage found(filter, page_rows(page));
  const std::uint32_t step = std::min(kStepMax, page_rows(page) + 1);
  for (std::uint32_t in_step = step; in_step == step;) {
    Rows rows(list_runs(query, before, step));
    for (in_step = 0; rows.next(); ++in_step) {
      RunView run = take_run_view(rows);
      before = static_cast<std::int64_t>(run.id.value);
      if (!found.take(std::move(run), rows.take_damage().has_value()))
        return std::move(found.page());
    }
    if (rows.failed()) return std::unexpected(rows.error());
  }
  return std::move(found.page());
}

Result<std::optional<RunView>> SqlReader::run(RunId id) {
  return read_one<RunView>(sql_.one_run.start().unsigned_number(id.value), take_run_view);
}

Result<PlanPtr> SqlReader::plan(std::uint64_t digest) {
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

Result<Page<DagView>> SqlReader::dags(const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kDags, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const std::string after = *cursor ? (*cursor)->text : std::string{};
  return read_page<DagView>(sql_.dag_page.start().text(after).number(limit + 1), limit,
                            CursorKind::kDags, take_dag,
                            [](const DagView& dag) { return CursorKey{.text = dag.name}; });
}

Result<std::optional<DagView>> SqlReader::dag(const std::string& name) {
  return read_one<DagView>(sql_.one_dag.start().text(name), take_dag);
}

namespace {

ScheduleView take_schedule_view(Rows& rows) {
  StoredSchedule stored = take_schedule(rows);
  ScheduleView view;
  static_cast<ScheduleRow&>(view) = std::move(stored.row);
  view.digest = stored.digest;
  return view;
}

}  // namespace

Result<Page<ScheduleView>> SqlReader::schedules(const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kSchedules, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const std::string after = *cursor ? (*cursor)->text : std::string{};
  return read_page<ScheduleView>(
      sql_.schedule_page.start().text(after).number(limit + 1), limit, CursorKind::kSchedules,
      take_schedule_view, [](const ScheduleView& row) { return CursorKey{.text = row.dag}; });
}

Result<std::optional<ScheduleView>> SqlReader::schedule(const std::string& dag) {
  return read_one<ScheduleView>(sql_.one_schedule.start().text(dag), take_schedule_view);
}

std::unique_ptr<Reader> make_reader(std::unique_ptr<Session> db, PlanShelf& shelf) {
  return std::make_unique<SqlReader>(std::move(db), shelf);
}

namespace {

constexpr std::uint32_t kAttemptsMax = 1'000;
// A walk for rows that no index finds looks at so many and then ends the page, however few it
// found.
constexpr std::uint32_t kWalkRows = 20'000;

TaskView take_task_view(Rows& rows) {
  TaskView view;
  view.row = take_task(rows);
  view.name = rows.text();
  return view;
}

CursorKey key_after(const TaskView& task) {
  return {.first = static_cast<std::uint64_t>(*key_of(task.row.id))};
}

}  // namespace

// The keys that a list of tasks is about: all, those of a run, or those of one of its nodes.
struct SqlReader::TaskKeys {
  std::int64_t first = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

Result<SqlReader::TaskKeys> SqlReader::keys_for(const TaskFilter& filter) {
  if (!filter.run) {
    if (!filter.node) return TaskKeys{};
    return std::unexpected(Error{Fault::kBadRequest, "filtering by node requires a run"});
  }
  const KeyRange keys = keys_of(*filter.run);
  if (!filter.node) return TaskKeys{.first = keys.first, .end = keys.end};
  const TaskKeys none{.first = keys.first, .end = keys.first};
  const auto row = run(*filter.run);
  if (!row) return std::unexpected(row.error());
  if (!*row) return none;
  const auto read = plan((*row)->dag_digest);
  if (!read) return std::unexpected(read.error());
  if (!*read) return none;
  const auto laid_out = laid_out_again(*read, (*row)->late);
  if (!laid_out) return std::unexpected(Error{Fault::kDamaged, laid_out.error()});
  const DagPlan& of_run = **laid_out;
  for (std::uint32_t node = 0; node < of_run.nodes.size(); ++node) {
    if (of_run.node_spec(node).name != *filter.node) continue;
    const std::int64_t first = keys.first + of_run.first_task(node);
    return TaskKeys{.first = first, .end = first + of_run.tasks_of(node)};
  }
  return none;
}

Statement& SqlReader::tasks_in_state(TaskState state) {
  Statement*& statement = by_state_[state];
  if (statement == nullptr) {
    const std::string_view form = db_->text_of(is_held(state)    ? "tasks_held"
                                               : is_final(state) ? "tasks_ended"
                                                                 : "tasks_waiting");
    statement =
        &db_->prepare_text(fmt::format(fmt::runtime(form), fmt::arg("state", to_text(state)),
                                       fmt::arg("count", lower_case(to_text(state)))));
  }
  return *statement;
}

Result<Page<TaskView>> SqlReader::tasks(const TaskFilter& filter, const PageRequest& page) {
  const auto cursor = read_cursor(CursorKind::kTasks, page.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint32_t limit = page_rows(page);
  const Snapshot snapshot(*db_);
  auto keys = keys_for(filter);
  if (!keys) return std::unexpected(keys.error());
  if (*cursor) {
    // One past the last key shown; a cursor made up by somebody must not overflow it.
    const std::uint64_t last = std::min<std::uint64_t>((*cursor)->first, kRunsEnd << kIndexBits);
    keys->first = std::max(keys->first, static_cast<std::int64_t>(last) + 1);
  }
  if (filter.worker) {
    sql_.tasks_of_worker.start().number(keys->first).number(keys->end).number(limit + 1);
    sql_.tasks_of_worker.text(filter.worker->text);
    if (filter.state) {
      sql_.tasks_of_worker.literal(to_text(*filter.state));
    } else {
      sql_.tasks_of_worker.null();
    }
    return read_page<TaskView>(sql_.tasks_of_worker, limit, CursorKind::kTasks, take_task_view,
                               key_after);
  }
  if (!filter.state || filter.state == TaskState::kCompleted || filter.node) {
    return walk_tasks(*keys, filter.state, limit);
  }
  Statement& statement = tasks_in_state(*filter.state);
  statement.start().number(keys->first).number(keys->end).number(limit + 1);
  return read_page<TaskView>(statement, limit, CursorKind::kTasks, take_task_view, key_after);
}

Result<Page<TaskView>> SqlReader::walk_tasks(const TaskKeys& keys, std::optional<TaskState> state,
                                             std::uint32_t limit) {
  const std::uint32_t rows_max = state ? kWalkRows : limit + 1;
  Rows rows(sql_.tasks_by_key.start().number(keys.first).number(keys.end).number(rows_max));
  Page<TaskView> page;
  std::uint32_t seen = 0;
  while (rows.next()) {
    TaskView view = take_task_view(rows);
    const bool wanted = !rows.take_damage() && (!state || view.row.state == *state);
    ++seen;
    if (wanted && page.items.size() == limit) {
      page.next_cursor = write_cursor(CursorKind::kTasks, key_after(page.items.back()));
      break;
    }
    if (seen == rows_max) page.next_cursor = write_cursor(CursorKind::kTasks, key_after(view));
    if (wanted) page.items.push_back(std::move(view));
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return page;
}

Result<std::optional<TaskView>> SqlReader::task(TaskId id) {
  const auto key = key_of(id);
  if (!key) return std::optional<TaskView>{};
  return read_one<TaskView>(sql_.one_task.start().number(*key), take_task_view);
}

Result<std::optional<TaskDataRow>> SqlReader::task_data(TaskId id) {
  const auto key = key_of(id);
  if (!key) return std::optional<TaskDataRow>{};
  return read_one<TaskDataRow>(sql_.one_task_data.start().number(*key),
                               take_row_of_task<TaskDataRow>);
}

Result<std::vector<TaskDataRow>> SqlReader::outputs(const TaskSpan& span) {
  const std::int64_t base = keys_of(span.run).first;
  sql_.outputs_of_tasks.start().number(base + span.first).number(base + span.end);
  return read_all<TaskDataRow>(sql_.outputs_of_tasks, take_row_of_task<TaskDataRow>);
}

Result<std::vector<SignalRow>> SqlReader::signals(RunId run) {
  return read_all<SignalRow>(sql_.signals_of_run.start().unsigned_number(run.value),
                             take_row<SignalRow>);
}

Result<std::vector<AttemptRow>> SqlReader::attempts(TaskId id) {
  const auto key = key_of(id);
  if (!key) return std::vector<AttemptRow>{};
  return read_all<AttemptRow>(sql_.attempts_of_task.start().number(*key).number(kAttemptsMax),
                              take_row_of_task<AttemptRow>);
}

}  // namespace vortex::store::sql
