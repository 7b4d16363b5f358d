#include "store/sql/record_io.h"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "store/row_json.h"

namespace vortex::store::sql {

void bind_list(Statement& statement, const Labels& labels) {
  labels.empty() ? statement.null() : statement.own_text(labels_json(labels));
}

void bind_list(Statement& statement, const std::vector<std::uint32_t>& numbers) {
  numbers.empty() ? statement.null() : statement.own_text(numbers_json(numbers));
}

void bind_list(Statement& statement, const std::vector<Instant>& times) {
  std::string text;
  for (const Instant at : times) text += fmt::format("{}{}", text.empty() ? "" : ",", at.us);
  statement.own_text(std::move(text));
}

void bind_list(Statement& statement, const WorkerInfo& info) {
  statement.own_text(abilities_json(info));
}

void take_list(Rows& rows, Labels& labels) {
  const std::string_view json = rows.view();
  if (json.empty()) return;
  auto read = read_labels(json);
  if (!read) return rows.damaged(fmt::format("'{}'", json));
  labels = *std::move(read);
}

void take_list(Rows& rows, std::vector<std::uint32_t>& numbers) {
  const std::string_view json = rows.view();
  if (json.empty()) return;
  auto read = read_numbers(json);
  if (!read) return rows.damaged(fmt::format("'{}'", json));
  numbers = *std::move(read);
}

// What cannot be read ends the list.
void take_list(Rows& rows, std::vector<Instant>& times) {
  std::string_view text = rows.view();
  while (!text.empty()) {
    Instant at;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), at.us);
    if (problem != std::errc{}) break;
    times.push_back(at);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
}

void take_list(Rows& rows, WorkerInfo& info) {
  const std::string_view abilities = rows.view();
  if (!read_abilities(abilities, info)) rows.damaged(fmt::format("'{}'", abilities));
}

TaskRow take_task(Rows& rows) {
  TaskRow row = take_row<TaskRow>(rows);
  row.id.level = row.level.value_or(0);
  return row;
}

StoredSchedule take_schedule(Rows& rows) {
  StoredSchedule stored;
  stored.row = take_row<ScheduleRow>(rows);
  stored.digest = rows.unsigned_number();
  return stored;
}

StoredRun take_run(Rows& rows) {
  RunRow row = take_row<RunRow>(rows);
  return {std::move(row), rows.unsigned_number()};
}

}  // namespace vortex::store::sql
