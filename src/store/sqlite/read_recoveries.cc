#include <limits>

#include "store/keys.h"
#include "store/sqlite/read_page.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/record_io.h"

namespace vortex::store::sqlite {
namespace {

constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::max();

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

Result<Page<RecoveryView>> SqliteReader::recoveries(const RecoveryFilter& filter,
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

Result<std::optional<RecoveryView>> SqliteReader::recovery(RecoveryId id) {
  return read_one<RecoveryView>(sql_.one_recovery.start().unsigned_number(id.value), take_recovery);
}

Result<Page<RecoveryItemRow>> SqliteReader::recovery_items(RecoveryId id, const PageRequest& page) {
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

Result<Page<DeadLetterView>> SqliteReader::dead_letters(const DeadLetterFilter& filter,
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

}  // namespace vortex::store::sqlite
