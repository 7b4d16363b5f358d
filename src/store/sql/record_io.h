#pragma once
// Rows of the model to and from the columns of a statement, made from their tables
// (model/records.h). Compiles to one call per column: nothing is looked up when it runs.
//
// A column that holds what its type cannot hold is named as damage (Rows::damaged).

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "model/records.h"
#include "store/keys.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

using record::As;
using record::Write;

// ---- Values that are text of a form of their own ----

void bind_list(Statement& statement, const Labels& labels);
void bind_list(Statement& statement, const std::vector<std::uint32_t>& numbers);
void bind_list(Statement& statement, const std::vector<Instant>& times);
void bind_list(Statement& statement, const WorkerInfo& info);  // its abilities
void take_list(Rows& rows, Labels& labels);
void take_list(Rows& rows, std::vector<std::uint32_t>& numbers);
void take_list(Rows& rows, std::vector<Instant>& times);
void take_list(Rows& rows, WorkerInfo& info);

// ---- One value ----

template <As as, class Value>
void bind_value(Statement& statement, const Value& value) {
  if constexpr (std::same_as<Value, bool>) {
    statement.flag(value);
  } else if constexpr (std::integral<Value> || (std::is_enum_v<Value> && as == As::kNumber)) {
    statement.number(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_enum_v<Value>) {
    statement.literal(to_text(value));
  } else if constexpr (std::same_as<Value, std::string> && as == As::kNullIfEmpty) {
    statement.text_or_null(value);
  } else if constexpr (std::same_as<Value, std::string>) {
    statement.text(value);
  } else if constexpr (std::same_as<Value, Instant>) {
    if constexpr (as == As::kMicros) {
      statement.micros(value);
    } else if constexpr (as == As::kMicrosAlways) {
      statement.number(value.us);
    } else {
      statement.time(value);
    }
  } else if constexpr (std::same_as<Value, TaskId>) {
    statement.number(key_of(value).value_or(-1));  // no row has it; writers refuse such ids before
  } else if constexpr (std::same_as<Value, std::optional<std::uint32_t>>) {
    value ? statement.number(*value) : statement.null();
  } else if constexpr (std::same_as<Value, std::optional<Duration>>) {
    value ? statement.number(value->us) : statement.null();
  } else if constexpr (std::same_as<Value, std::optional<std::string>>) {
    value ? statement.blob(*value) : statement.null();
  } else if constexpr (std::same_as<Value, std::optional<CheckpointRef>>) {
    value ? statement.unsigned_number(value->number).unsigned_number(value->bytes)
          : statement.null().null();
  } else if constexpr (requires { value.value; }) {  // a strong number
    bind_value<as>(statement, value.value);
  } else if constexpr (requires { value.text; }) {  // a strong text
    bind_value<as>(statement, value.text);
  } else if constexpr (requires { std::tuple_size<Value>::value; }) {  // counts by state
    for (const auto& item : value) bind_value<as>(statement, item);
  } else {
    bind_list(statement, value);
  }
}

template <As as, class Value>
void take_value(Rows& rows, Value& value) {
  if constexpr (std::same_as<Value, bool>) {
    value = rows.flag();
  } else if constexpr (std::is_enum_v<Value> && as == As::kNumber) {
    value = take_code<Value>(rows);
  } else if constexpr (std::is_enum_v<Value>) {
    value = take_word<Value>(rows);
  } else if constexpr (std::same_as<Value, std::uint8_t>) {
    value = rows.u8();
  } else if constexpr (std::same_as<Value, std::uint16_t>) {
    value = rows.u16();
  } else if constexpr (std::same_as<Value, std::uint32_t>) {
    value = rows.u32();
  } else if constexpr (std::integral<Value>) {
    value = static_cast<Value>(rows.number());
  } else if constexpr (std::same_as<Value, std::string>) {
    value = rows.view();
  } else if constexpr (std::same_as<Value, Instant>) {
    if constexpr (as == As::kMicros) {
      value = rows.micros();
    } else if constexpr (as == As::kMicrosAlways) {
      value = {rows.number()};
    } else {
      value = rows.time();
    }
  } else if constexpr (std::same_as<Value, TaskId>) {
    value = task_of(rows.number(), 0);  // its level is a column of the task
  } else if constexpr (std::same_as<Value, std::optional<std::uint32_t>>) {
    if (rows.is_null()) {
      rows.skip();
    } else {
      value = rows.u32();
    }
  } else if constexpr (std::same_as<Value, std::optional<Duration>>) {
    if (rows.is_null()) {
      rows.skip();
    } else {
      value = Duration{rows.number()};
    }
  } else if constexpr (std::same_as<Value, std::optional<std::string>>) {
    if (rows.is_null()) {
      rows.skip();
    } else {
      value = rows.text();
    }
  } else if constexpr (std::same_as<Value, std::optional<CheckpointRef>>) {
    const CheckpointRef ref{.number = rows.unsigned_number(), .bytes = rows.unsigned_number()};
    if (ref.number != 0) value = ref;
  } else if constexpr (requires { value.value; }) {
    take_value<as>(rows, value.value);
  } else if constexpr (requires { value.text; }) {
    take_value<as>(rows, value.text);
  } else if constexpr (requires { std::tuple_size<Value>::value; }) {
    for (auto& item : value) take_value<as>(rows, item);
  } else {
    take_list(rows, value);
  }
}

// ---- Whole rows ----

// The values of @insert@ and @upsert@; those beside the row follow by hand.
template <class Row>
Statement& bind_row(Statement& statement, const Row& row) {
  statement.start();
  record::each_field<Row>([&]<std::size_t I>() {
    constexpr auto kField = record::kField<Row, I>;
    if constexpr (!record::kIsBeside<Row, I> && kField.write != Write::kElsewhere) {
      bind_value<kField.as>(statement, kField.get(row));
    }
  });
  return statement;
}

// The values of @update@.
template <class Row>
Statement& bind_changes(Statement& statement, const Row& row) {
  statement.start();
  record::each_field<Row>([&]<std::size_t I>() {
    constexpr auto kField = record::kField<Row, I>;
    constexpr Write kWrite = kField.write;
    if constexpr (kWrite == Write::kKey || kWrite == Write::kMatched ||
                  kWrite == Write::kChanging) {
      bind_value<kField.as>(statement, kField.get(row));
    }
  });
  return statement;
}

// The columns of @columns@.
template <class Row>
Row take_row(Rows& rows) {
  Row row;
  record::each_field<Row>([&]<std::size_t I>() {
    constexpr auto kField = record::kField<Row, I>;
    if constexpr (!record::kIsBeside<Row, I>) take_value<kField.as>(rows, kField.fill(row));
  });
  return row;
}

// ---- Rows that need more than their own columns ----

// The same, then t.level: the row names a task.
template <class Row>
Row take_row_of_task(Rows& rows) {
  Row row = take_row<Row>(rows);
  const std::uint32_t level = rows.u32();  // 0: there is no such task
  record::each_field<Row>([&]<std::size_t I>() {
    if constexpr (!record::kIsBeside<Row, I>) {
      auto& value = record::kField<Row, I>.fill(row);
      if constexpr (std::same_as<decltype(value), TaskId&>) value.level = level;
    }
  });
  return row;
}

TaskRow take_task(Rows& rows);

// The row, then r.digest: which plan is its, and is left out of it.
struct StoredRun {
  RunRow row;
  std::uint64_t digest = 0;
};
StoredRun take_run(Rows& rows);

// The same for a schedule.
struct StoredSchedule {
  ScheduleRow row;
  std::uint64_t digest = 0;
};
StoredSchedule take_schedule(Rows& rows);

}  // namespace vortex::store::sql
