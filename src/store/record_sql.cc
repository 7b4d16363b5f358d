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

using record::As;
using record::Write;

enum class Kind : std::uint8_t { kNumber, kText, kBytes };

struct Column {
  std::string_view name;
  Write write = Write::kChanging;
  bool beside = false;        // in no row: written, but not read with it
  Kind kind = Kind::kNumber;  // unset bytes are NULL; numbers are 0
};

// What binding makes of a value; see sql/record_io.h.
template <As as, class Value>
constexpr Kind kind_of() {
  if constexpr (std::same_as<Value, std::string>) {
    return Kind::kText;
  } else if constexpr (std::is_enum_v<Value>) {
    return as == As::kNumber ? Kind::kNumber : Kind::kText;
  } else if constexpr (std::same_as<Value, Instant>) {
    return as == As::kMicros || as == As::kMicrosAlways ? Kind::kNumber : Kind::kText;
  } else if constexpr (std::same_as<Value, std::optional<std::string>>) {
    return Kind::kBytes;
  } else if constexpr (std::integral<Value> || std::same_as<Value, TaskId> ||
                       std::same_as<Value, std::optional<std::uint32_t>> ||
                       std::same_as<Value, std::optional<Duration>> ||
                       std::same_as<Value, std::optional<CheckpointRef>>) {
    return Kind::kNumber;
  } else if constexpr (requires(Value value) { value.value; }) {
    return kind_of<as, decltype(Value::value)>();
  } else if constexpr (requires { std::tuple_size<Value>::value; }) {
    return kind_of<as, typename Value::value_type>();
  } else {
    return Kind::kText;  // a strong text, or a list
  }
}

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
      column.kind = kind_of<kField.as, Value>();
    } else {
      column.kind = kField.as == As::kNumber ? Kind::kNumber : Kind::kText;
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
                     RecoveryItemRow, DeadLetterRow, SignalRow, PartitionLeaseRow, QueueRow,
                     LimitRow, ControllerRow, JournalRow, ScheduleRow, CounterRow, TokenRow,
                     WebhookRow, SecretRow, SecretVersionRow, DagRow, AuditRow>();
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
  if (column.write != Write::kIfSet || column.kind == Kind::kBytes) return parameter;
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

// The arrays of a set, and the names of their elements.
struct SetColumns {
  std::string arrays;
  std::string names;

  void add(const Column& column) {
    constexpr std::string_view kTypes[] = {"bigint", "text", "bytea"};
    append(arrays, ", ", fmt::format("${}::{}[]", ++count, kTypes[static_cast<int>(column.kind)]));
    append(names, ", ", column.name);
  }
  std::string text() const { return fmt::format("unnest({}) AS n({})", arrays, names); }
  int count = 0;
};

// What an upsert does with rows that are there before it inserts the others: of a row that could
// not be inserted nobody can tell which of its values were unset.
std::string merge_set(const TableColumns& table, const SetColumns& set, const Dialect& dialect) {
  std::string values;
  std::string keys;
  std::string changes;
  for (const Column& column : table.columns) {
    if (column.write == Write::kElsewhere) continue;
    const std::string given = fmt::format("n.{}", column.name);
    append(values, ", ", value(column, given, dialect));
    if (column.write == Write::kKey) append(keys, ", ", column.name);
    const bool stays = column.write == Write::kKey || column.write == Write::kOnce;
    if (!stays) append(changes, ", ", change(column, given, "t"));
  }
  VX_ASSERT(keys.find(',') == std::string::npos);
  return fmt::format(
      "WITH n AS MATERIALIZED (SELECT * FROM {0}), there AS (UPDATE {1} t SET {2} FROM n "
      "WHERE t.{3} = n.{3} RETURNING t.{3}) INSERT INTO {1} ({4}) SELECT {5} FROM n "
      "WHERE NOT EXISTS (SELECT 1 FROM there WHERE there.{3} = n.{3})",
      set.text(), table.table, changes, keys, set.names, values);
}

std::string insert_set(const TableColumns& table, const Dialect& dialect, OnConflict conflict) {
  SetColumns set;
  std::string keys;
  std::string changes;
  bool merges = false;
  for (const Column& column : table.columns) {
    if (column.write == Write::kElsewhere) continue;
    set.add(column);
    merges = merges || column.write == Write::kIfSet;
    if (column.write == Write::kKey) append(keys, ", ", column.name);
    const bool stays = column.write == Write::kKey || column.write == Write::kOnce;
    if (!stays) append(changes, ", ", fmt::format("{0} = excluded.{0}", column.name));
  }
  if (merges) return merge_set(table, set, dialect);
  return fmt::format("INSERT INTO {} ({}) SELECT * FROM {} ON CONFLICT ({}) DO {}{}", table.table,
                     set.names, set.text(), keys,
                     conflict == OnConflict::kUpdate ? "UPDATE SET " : "NOTHING",
                     conflict == OnConflict::kUpdate ? changes : "");
}

std::string update_set(const TableColumns& table, const Dialect& dialect) {
  SetColumns set;
  std::string changes;
  std::string conditions;
  for (const Column& column : table.columns) {
    const bool is_key = column.write == Write::kKey;
    const bool is_matched = column.write == Write::kMatched;
    if (!is_key && !is_matched && column.write != Write::kChanging) continue;
    set.add(column);
    const std::string_view compare = is_key ? "=" : dialect.same_as;
    if (is_key || is_matched) {
      append(conditions, " AND ", fmt::format("t.{0} {1} n.{0}", column.name, compare));
    } else {
      append(changes, ", ", fmt::format("{0} = n.{0}", column.name));
    }
  }
  return fmt::format("UPDATE {} t SET {} FROM {} WHERE {}", table.table, changes, set.text(),
                     conditions);
}

std::string filled_in(std::string_view mark, const Dialect& dialect) {
  const std::size_t colon = mark.find(':');
  VX_ASSERT(colon != std::string_view::npos);
  const std::string_view kind = mark.substr(0, colon);
  const std::string_view what = mark.substr(colon + 1);
  if (kind == "columns") return columns(what);
  if (kind == "insert") return insert(columns_of(what), dialect, OnConflict::kNothing);
  if (kind == "upsert") return insert(columns_of(what), dialect, OnConflict::kUpdate);
  if (kind == "insert_set") return insert_set(columns_of(what), dialect, OnConflict::kNothing);
  if (kind == "upsert_set") return insert_set(columns_of(what), dialect, OnConflict::kUpdate);
  if (kind == "update_set") return update_set(columns_of(what), dialect);
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
