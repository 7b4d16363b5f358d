// What the thorough check compares, in as few steps and columns as it needs.

#include <utility>

#include "store/keys.h"
#include "store/sqlite/read_page.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/record_io.h"

namespace vortex::store::sqlite {
namespace {

void take_run_marks(Rows& rows, RunMarks& out) {
  out.state = take_word<RunState>(rows);
  out.ending = take_code<RunEnding>(rows);
  out.paused = rows.flag();
  out.levels_passed = rows.u32();
  take_value<As::kUsual>(rows, out.made);
}

std::uint32_t index_of(std::int64_t key) { return task_of(key, 0).index; }

// The worker's name is taken only where it counts.
TaskMark take_mark(Rows& rows) {
  TaskMark mark;
  mark.index = index_of(rows.number());
  mark.state = take_word<TaskState>(rows);
  mark.epoch = {rows.unsigned_number()};
  if (is_held(mark.state)) mark.worker = rows.view();
  return mark;
}

TaskMark take_whole(Rows& rows) {
  TaskRow row = take_task(rows);
  return {row.id.index, row.state, row.epoch,
          is_held(row.state) ? std::move(row.worker.text) : std::string()};
}

}  // namespace

Result<std::vector<RunMarks>> SqliteReader::marks(const std::vector<TaskSpan>& spans, Look look) {
  std::vector<RunMarks> all(spans.size());
  const Snapshot snapshot(sql_);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (auto done = mark_run(spans[i].run, look, all[i]); !done) {
      return std::unexpected(done.error());
    }
    if (!all[i].is_there || !all[i].damage.empty()) continue;
    if (auto done = mark_tasks(spans[i], look, all[i]); !done) {
      return std::unexpected(done.error());
    }
  }
  return all;
}

Result<void> SqliteReader::mark_run(RunId id, Look look, RunMarks& out) {
  if (look == Look::kWholeRows) {
    const auto whole = run(id);
    if (!whole && whole.error().fault != Fault::kDamaged) return std::unexpected(whole.error());
    if (!whole) {
      out.is_there = true;
      out.damage = whole.error().detail;
      return {};
    }
  }
  Rows rows(sql_.run_marks.start().unsigned_number(id.value));
  out.is_there = rows.next();
  if (out.is_there) take_run_marks(rows, out);
  if (!rows.failed()) return {};
  const Error error = rows.error();
  if (!rows.take_damage()) return std::unexpected(error);
  out.damage = error.detail;
  return {};
}

Result<void> SqliteReader::mark_tasks(const TaskSpan& span, Look look, RunMarks& out) {
  const std::int64_t first = keys_of(span.run).first;
  const bool whole = look == Look::kWholeRows;
  Statement& statement = whole ? sql_.tasks_by_key : sql_.task_marks;
  statement.start().number(first + span.first).number(first + span.end);
  if (whole) statement.number(span.end - span.first);
  Rows rows(statement);
  out.tasks.reserve(span.end - span.first);
  while (rows.next()) {
    TaskMark mark = whole ? take_whole(rows) : take_mark(rows);
    if (!rows.take_damage()) out.tasks.push_back(std::move(mark));
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<std::vector<RunId>> SqliteReader::running(std::uint32_t limit) {
  return read_all<RunId>(sql_.running_runs.start().number(limit),
                         [](Rows& rows) { return RunId{rows.unsigned_number()}; });
}

}  // namespace vortex::store::sqlite
