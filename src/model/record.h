#pragma once
// What a record is: one table per row type, with one line per field, fixed when the program is
// built.
//
// SQL text, binding and decoding of every store, the JSON of the API, its OpenAPI description,
// dumps and comparisons are all made from these tables (model/records.h), so a field is declared
// once. A field is a path of member pointers from the row; a pointer on the way is followed. How it
// is stored and shown follows from its type; only exceptions are said. Tables say nothing about any
// database.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace vortex::record {

// How a column holds a value whose type leaves a choice.
enum class As : std::uint8_t {
  kUsual,         // enums as words, times as text and NULL for never, lists as JSON
  kNumber,        // an enum by its number
  kMicros,        // a time as microseconds since 1970, NULL for never
  kMicrosAlways,  // the same, where there always is a time
  kNullIfEmpty,   // a string, NULL when it is empty
};

// Which statements write a column.
enum class Write : std::uint8_t {
  kChanging,   // every one
  kKey,        // finds the row
  kOnce,       // only the insert of a new row
  kRarely,     // an upsert, but not the update of what changes often
  kMatched,    // as kRarely; the update of the rest changes only rows where it is the same
  kIfSet,      // a value that is unset leaves the column as it is
  kElsewhere,  // none: it is a column of a table that is joined
};

// How a field is shown as JSON.
enum class Show : std::uint8_t {
  kAlways,
  kNullable,    // null when there is nothing: 0, empty, never
  kNullBefore,  // null in what is shown before there is a row
  kDocument,    // text that is JSON itself; {} when it is empty
  kHidden,
};

struct About {
  std::string_view columns;  // its column, or several separated by ", "
  std::string_view name;     // as a member of a JSON object, and wherever it is told of
  std::string_view meaning;
  As as = As::kUsual;
  Write write = Write::kChanging;
  Show show = Show::kAlways;
};

// The object behind a pointer; nothing is an object with no values.
template <class T>
const T& pointee(const T& value) {
  return value;  // NOLINT(bugprone-return-const-ref-from-parameter): members of a row that lives on
}
template <class T>
const T& pointee(const std::shared_ptr<const T>& pointer) {
  static const T none{};
  return pointer ? *pointer : none;
}
// The same to be filled in, made where it is missing. Only for rows that own it alone: those that
// are being read.
template <class T>
T& pointee_to_fill(T& value) {
  return value;
}
template <class T>
T& pointee_to_fill(std::shared_ptr<const T>& pointer) {
  if (!pointer) pointer = std::make_shared<T>();
  return const_cast<T&>(*pointer);
}

// A field without a path is a column that the writer of the row gives by itself.
template <auto... Path>
struct Field : About {
  template <class Row>
  static const auto& get(const Row& row) {
    return step<Path...>(row);
  }
  template <class Row>
  static auto& fill(Row& row) {
    return step_to_fill<Path...>(row);
  }

  constexpr Field stored(As how) const {
    return with([&](Field& f) { f.as = how; });
  }
  constexpr Field written(Write when) const {
    return with([&](Field& f) { f.write = when; });
  }
  constexpr Field key() const { return written(Write::kKey); }
  constexpr Field once() const { return written(Write::kOnce); }
  constexpr Field named(std::string_view wanted) const {
    return with([&](Field& f) { f.name = wanted; });
  }
  constexpr Field shown(Show how) const {
    return with([&](Field& f) { f.show = how; });
  }
  constexpr Field nullable() const { return shown(Show::kNullable); }

 private:
  template <class Change>
  constexpr Field with(Change change) const {
    Field changed = *this;
    change(changed);
    return changed;
  }
  template <auto First, auto... Rest, class From>
  static const auto& step(const From& from) {
    if constexpr (sizeof...(Rest) == 0) {
      return pointee(from.*First);
    } else {
      return step<Rest...>(pointee(from.*First));
    }
  }
  template <auto First, auto... Rest, class From>
  static auto& step_to_fill(From& from) {
    if constexpr (sizeof...(Rest) == 0) {
      return pointee_to_fill(from.*First);
    } else {
      return step_to_fill<Rest...>(pointee_to_fill(from.*First));
    }
  }
};

// Stored, and shown under the name of its column.
template <auto... Path>
constexpr Field<Path...> field(std::string_view column, std::string_view meaning) {
  return {{.columns = column, .name = column, .meaning = meaning}};
}
// Stored and not shown.
template <auto... Path>
constexpr Field<Path...> kept(std::string_view column, std::string_view meaning) {
  return field<Path...>(column, meaning).shown(Show::kHidden);
}
// A column that is in no row: text unless it is stored as a number. These come last in their table,
// and are bound after the row.
constexpr Field<> beside(std::string_view column, Write write, std::string_view meaning) {
  return kept<>(column, meaning).written(write);
}

template <class Row, class... Fields>
struct Table {
  std::string_view name;  // in the database
  std::tuple<Fields...> fields;
};

template <class Row, class... Fields>
constexpr Table<Row, Fields...> table(std::string_view name, Fields... fields) {
  return {name, std::tuple(fields...)};
}

// The table of a row type; specialized in model/records.h.
template <class Row>
inline constexpr std::nullptr_t kTable = nullptr;

template <class Row>
inline constexpr std::size_t kFields = std::tuple_size_v<decltype(kTable<Row>.fields)>;

template <class Row, std::size_t I>
inline constexpr auto kField = std::get<I>(kTable<Row>.fields);

template <class T>
inline constexpr bool kHasPath = true;
template <>
inline constexpr bool kHasPath<Field<>> = false;

template <class Row, std::size_t I>
inline constexpr bool kIsBeside = !kHasPath<std::remove_const_t<decltype(kField<Row, I>)>>;

// Calls visit.operator()<I>() for every field of the table, in its order.
template <class Row, class Visit>
constexpr void each_field(Visit&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit.template operator()<I>(), ...);
  }(std::make_index_sequence<kFields<Row>>{});
}

}  // namespace vortex::record
