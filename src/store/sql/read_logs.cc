#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "store/keys.h"
#include "store/log_span.h"
#include "store/packed.h"
#include "store/sql/reader.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {
namespace {

LogSpan take_span(Rows& rows) {
  LogSpan span;
  span.size = rows.unsigned_number();
  span.cut_begin = rows.unsigned_number();
  span.cut_end = rows.unsigned_number();
  return span;
}

}  // namespace

Result<bool> SqlReader::is_doomed(RunId run) {
  const auto found = read_one<std::int64_t>(sql_.is_doomed.start().unsigned_number(run.value),
                                            [](Rows& rows) { return rows.number(); });
  if (!found) return std::unexpected(found.error());
  return found->has_value();
}

Result<LogText> SqlReader::log(const LogRequest& request) {
  const auto key = key_of(request.attempt.task);
  if (!key) return LogText{};
  const Snapshot snapshot(*db_);
  const auto doomed = is_doomed(request.attempt.task.run);
  if (!doomed) return std::unexpected(doomed.error());
  if (*doomed) return LogText{};
  sql_.log_head.start().number(*key).unsigned_number(request.attempt.epoch.value);
  const auto head = read_one<LogSpan>(sql_.log_head, take_span);
  if (!head) return std::unexpected(head.error());
  const LogSpan span = head->value_or(LogSpan{});
  const LogWindow window = window_of(span, request);
  LogText text;
  text.offset = window.begin;
  text.next_offset = window.next;
  text.skipped = window.next - window.end;
  text.size = span.size;
  if (window.end == window.begin) return text;
  text.data.reserve(window.end - window.begin);
  if (auto done = read_bytes(*key, request, text); !done) return std::unexpected(done.error());
  return text;
}

Result<CheckpointText> SqlReader::checkpoint(const CheckpointRequest& request) {
  const auto key = key_of(request.task);
  if (!key) return CheckpointText{};
  const Snapshot snapshot(*db_);
  const auto doomed = is_doomed(request.task.run);
  if (!doomed) return std::unexpected(doomed.error());
  if (*doomed) return CheckpointText{};
  CheckpointText text;
  sql_.stored_checkpoint_bytes.start().number(*key).unsigned_number(request.upload);
  const auto stored = read_one<std::uint64_t>(sql_.stored_checkpoint_bytes,
                                              [](Rows& rows) { return rows.unsigned_number(); });
  if (!stored) return std::unexpected(stored.error());
  text.stored = stored->value_or(0);
  sql_.one_checkpoint_piece.start()
      .number(*key)
      .unsigned_number(request.upload)
      .unsigned_number(request.offset);
  Rows rows(sql_.one_checkpoint_piece);
  if (rows.next()) {
    const std::uint64_t size = rows.unsigned_number();
    const std::string_view packed = rows.view();
    auto unpacked = packed.size() < size ? unpack(packed) : std::string(packed);
    if (unpacked && unpacked->size() == size) {
      text.data = *std::move(unpacked);
    } else {
      rows.damaged("a piece of a checkpoint cannot be unpacked");
    }
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return text;
}

// Fills text.data with the bytes from text.offset up to the cut, piece by piece.
Result<void> SqlReader::read_bytes(std::int64_t key, const LogRequest& request, LogText& into) {
  const std::uint64_t end = into.next_offset - into.skipped;
  sql_.log_chunks.start()
      .number(key)
      .unsigned_number(request.attempt.epoch.value)
      .unsigned_number(into.offset)
      .unsigned_number(end);
  Rows rows(sql_.log_chunks);
  while (rows.next()) {
    const std::uint64_t offset = rows.unsigned_number();
    const std::uint64_t size = rows.unsigned_number();
    const std::string_view stored = rows.view();
    const auto unpacked = stored.size() < size ? unpack(stored) : std::string(stored);
    const std::uint64_t at = into.offset + into.data.size();
    if (!unpacked || unpacked->size() != size || offset > at || offset + size <= at) {
      rows.damaged("the output of a task has a gap");
      break;
    }
    into.data.append(*unpacked, at - offset, std::min(end, offset + size) - at);
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

// What the thorough check compares, in as few steps and columns as it needs.

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

Result<std::vector<RunMarks>> SqlReader::marks(const std::vector<TaskSpan>& spans,
                                               ReadDepth depth) {
  std::vector<RunMarks> all(spans.size());
  const Snapshot snapshot(*db_);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (auto done = mark_run(spans[i].run, depth, all[i]); !done) {
      return std::unexpected(done.error());
    }
    if (!all[i].is_there || !all[i].damage.empty()) continue;
    if (auto done = mark_tasks(spans[i], depth, all[i]); !done) {
      return std::unexpected(done.error());
    }
  }
  return all;
}

Result<void> SqlReader::mark_run(RunId id, ReadDepth depth, RunMarks& out) {
  if (depth == ReadDepth::kWholeRows) {
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

Result<void> SqlReader::mark_tasks(const TaskSpan& span, ReadDepth depth, RunMarks& out) {
  const std::int64_t first = keys_of(span.run).first;
  const bool whole = depth == ReadDepth::kWholeRows;
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

Result<std::vector<RunId>> SqlReader::running(std::uint32_t limit) {
  return read_all<RunId>(sql_.running_runs.start().number(limit),
                         [](Rows& rows) { return RunId{rows.unsigned_number()}; });
}

}  // namespace vortex::store::sql
