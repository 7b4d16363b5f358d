#include "store/record_sql.h"

#include <concepts>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "model/records.h"

namespace vortex::store {
namespace {

using record::Write;

struct Column {
  std::string_view name;
  Write write = Write::kChanging;
  bool beside = false;    // in no row: written, but not read with it
  bool is_bytes = false;  // unset ones are NULL; numbers are 0
};

struct TableColumns {
  std::string_view table;
  std::vector<Column> columns;
};

template <class Row>
TableColumns columns_of() {
  TableColumns out{record::kTable<Row>.name, {}};
  record::each_field<Row>([&]<std::size_t I>() {
    constexpr auto kField = record::kField<Row, I>;
    Column column;
    column.write = kField.write;
    column.beside = record::kIsBeside<Row, I>;
    if constexpr (!record::kIsBeside<Row, I>) {
      using Value = std::remove_cvref_t<decltype(kField.get(std::declval<const Row&>()))>;
      column.is_bytes = std::same_as<Value, std::optional<std::string>>;
    }
    std::string_view names = kField.columns;
    for (std::size_t comma = names.find(", "); comma != std::string_view::npos;
         comma = names.find(", ")) {
      column.name = names.substr(0, comma);
      out.columns.push_back(column);
      names.remove_prefix(comma + 2);
    }
    column.name = names;
    out.columns.push_back(column);
  });
  return out;
}

template <class... Rows>
std::vector<TableColumns> columns_of_all() {
  return {columns_of<Rows>()...};
}

const TableColumns& columns_of(std::string_view table) {
  static const std::vector<TableColumns> all =
      columns_of_all<RunRow, TaskRow, TaskDataRow, AttemptRow, WorkerRow, MachineRow, RecoveryRow,
                     RecoveryItemRow, DeadLetterRow, PartitionLeaseRow, QueueRow, ControllerRow,
                     JournalRow, CounterRow, TokenRow, WebhookRow, SecretRow, SecretVersionRow,
                     DagRow, AuditRow>();
  for (const TableColumns& columns : all) {
    if (columns.table == table) return columns;
  }
  VX_ASSERT(false && "a statement names a table that is no record");
}

void append(std::string& list, std::string_view separator, std::string_view item) {
  if (!list.empty()) list += separator;
  list += item;
}

// `what` is a table and how the statement calls it.
std::string columns(std::string_view what) {
  const std::size_t space = what.find(' ');
  VX_ASSERT(space != std::string_view::npos);
  std::string list;
  for (const Column& column : columns_of(what.substr(0, space)).columns) {
    if (column.beside) continue;
    const bool elsewhere = column.write == Write::kElsewhere;
    append(list, ", ",
           elsewhere ? std::string(column.name)
                     : fmt::format("{}.{}", what.substr(space + 1), column.name));
  }
  return list;
}

// What an upsert does with a row that is there.
std::string change(const Column& column, const std::string& parameter, std::string_view table) {
  if (column.write != Write::kIfSet) return fmt::format("{} = {}", column.name, parameter);
  return fmt::format("{0} = coalesce({1}, {2}.{0})", column.name, parameter, table);
}

// What a new row has.
std::string value(const Column& column, const std::string& parameter, const Dialect& dialect) {
  if (column.write != Write::kIfSet || column.is_bytes) return parameter;
  return fmt::format("coalesce({}, {})", parameter, dialect.zero);
}

enum class OnConflict : bool { kNothing, kUpdate };

std::string insert(const TableColumns& table, const Dialect& dialect, OnConflict conflict) {
  std::string names;
  std::string values;
  std::string keys;
  std::string changes;
  int number = 0;
  for (const Column& column : table.columns) {
    if (column.write == Write::kElsewhere) continue;
    const std::string parameter = fmt::format("{}{}", dialect.parameter, ++number);
    append(names, ", ", column.name);
    append(values, ", ", value(column, parameter, dialect));
    if (column.write == Write::kKey) append(keys, ", ", column.name);
    const bool stays = column.write == Write::kKey || column.write == Write::kOnce;
    if (!stays) append(changes, ", ", change(column, parameter, table.table));
  }
  return fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO {}{}", table.table, names,
                     values, keys, conflict == OnConflict::kUpdate ? "UPDATE SET " : "NOTHING",
                     conflict == OnConflict::kUpdate ? changes : "");
}

std::string update(const TableColumns& table, const Dialect& dialect) {
  std::string changes;
  std::string conditions;
  int number = 0;
  for (const Column& column : table.columns) {
    const bool is_key = column.write == Write::kKey;
    const bool is_matched = column.write == Write::kMatched;
    if (!is_key && !is_matched && column.write != Write::kChanging) continue;
    const std::string parameter = fmt::format("{}{}", dialect.parameter, ++number);
    if (is_key) append(conditions, " AND ", fmt::format("{} = {}", column.name, parameter));
    if (is_matched) {
      append(conditions, " AND ", fmt::format("{} {} {}", column.name, dialect.same_as, parameter));
    }
    if (!is_key && !is_matched) append(changes, ", ", change(column, parameter, table.table));
  }
  return fmt::format("UPDATE {} SET {}{}{}", table.table, changes,
                     conditions.empty() ? "" : " WHERE ", conditions);
}

std::string filled_in(std::string_view mark, const Dialect& dialect) {
  const std::size_t colon = mark.find(':');
  VX_ASSERT(colon != std::string_view::npos);
  const std::string_view kind = mark.substr(0, colon);
  const std::string_view what = mark.substr(colon + 1);
  if (kind == "columns") return columns(what);
  if (kind == "insert") return insert(columns_of(what), dialect, OnConflict::kNothing);
  if (kind == "upsert") return insert(columns_of(what), dialect, OnConflict::kUpdate);
  VX_ASSERT(kind == "update");
  return update(columns_of(what), dialect);
}

}  // namespace

std::string with_records(std::string_view sql, const Dialect& dialect) {
  std::string out;
  for (std::size_t mark = sql.find('@'); mark != std::string_view::npos; mark = sql.find('@')) {
    const std::size_t end = sql.find('@', mark + 1);
    VX_ASSERT(end != std::string_view::npos);
    out += sql.substr(0, mark);
    out += filled_in(sql.substr(mark + 1, end - mark - 1), dialect);
    sql.remove_prefix(end + 1);
  }
  out += sql;
  return out;
}

}  // namespace vortex::store
