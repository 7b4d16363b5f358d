#include <algorithm>
#include <optional>
#include <string>

#include "store/keys.h"
#include "store/log_span.h"
#include "store/packed.h"
#include "store/sqlite/read_page.h"
#include "store/sqlite/reader.h"

namespace vortex::store::sqlite {
namespace {

LogSpan take_span(Rows& rows) {
  LogSpan span;
  span.size = rows.unsigned_number();
  span.cut_begin = rows.unsigned_number();
  span.cut_end = rows.unsigned_number();
  return span;
}

}  // namespace

Result<bool> SqliteReader::is_doomed(RunId run) {
  const auto found = read_one<std::int64_t>(sql_.is_doomed.start().unsigned_number(run.value),
                                            [](Rows& rows) { return rows.number(); });
  if (!found) return std::unexpected(found.error());
  return found->has_value();
}

Result<LogText> SqliteReader::log(const LogRequest& request) {
  const auto key = key_of(request.attempt.task);
  if (!key) return LogText{};
  const Snapshot snapshot(sql_);
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

Result<CheckpointText> SqliteReader::checkpoint(const CheckpointRequest& request) {
  const auto key = key_of(request.task);
  if (!key) return CheckpointText{};
  const Snapshot snapshot(sql_);
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
Result<void> SqliteReader::read_bytes(std::int64_t key, const LogRequest& request, LogText& into) {
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

}  // namespace vortex::store::sqlite
