#pragma once
// The shape of a JSON object: its fields in order, each declared and written in one place.
//
// Fields that are stored come from the table of their record (model/records.h); those that are
// computed are added between them with a function. How a value is declared and written follows from
// its type. A shape is made once and then only read, by any thread.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/schema/schema.h"
#include "base/assert.h"
#include "base/time.h"
#include "codec/json_writer.h"
#include "model/records.h"

namespace vortex::api {

using codec::JsonWriter;

// ---- Values by their type ----

template <class T>
struct UnwrapOptional {
  using type = T;
};
template <class T>
struct UnwrapOptional<std::optional<T>> {
  using type = T;
};

template <class T>
constexpr Type json_type() {
  if constexpr (std::same_as<T, bool>) {
    return Type::kBoolean;
  } else if constexpr (std::integral<T>) {
    return Type::kInteger;
  } else if constexpr (std::same_as<T, Instant>) {
    return Type::kTime;
  } else if constexpr (std::same_as<T, Labels>) {
    return Type::kTextMap;
  } else if constexpr (std::same_as<T, NamedAmounts> || std::same_as<T, TaskCounts>) {
    return Type::kCountMap;
  } else if constexpr (std::same_as<T, std::vector<std::string>>) {
    return Type::kTextList;
  } else if constexpr (std::same_as<T, RunId>) {
    return Type::kText;
  } else if constexpr (requires(T value) { value.value; }) {
    return Type::kInteger;
  } else {
    return Type::kText;
  }
}

template <class T>
constexpr Names json_words() {
  if constexpr (HasWords<T>) return words_of<T>();
  return {};
}

template <class T>
void write_json(JsonWriter& json, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    json.boolean(value);
  } else if constexpr (HasWords<T>) {
    json.text(to_text(value));
  } else if constexpr (std::unsigned_integral<T>) {
    json.number(std::uint64_t{value});
  } else if constexpr (std::integral<T>) {
    json.number(std::int64_t{value});
  } else if constexpr (std::same_as<T, Instant>) {
    json.time(value);
  } else if constexpr (std::same_as<T, RunId> || std::same_as<T, TaskId>) {
    json.text(to_text(value));
  } else if constexpr (std::same_as<T, TaskCounts>) {
    json.begin_object();
    for (std::size_t i = 0; i < value.size(); ++i) json.field(kWords<TaskState>[i], value[i]);
    json.end_object();
  } else if constexpr (std::same_as<T, Labels> || std::same_as<T, NamedAmounts>) {
    json.begin_object();
    for (const auto& [name, item] : value) json.field(name, item);
    json.end_object();
  } else if constexpr (std::same_as<T, std::vector<std::string>>) {
    json.begin_array();
    for (const std::string& text : value) json.text(text);
    json.end_array();
  } else if constexpr (requires { value.has_value(); }) {
    value ? write_json(json, *value) : void(json.null());
  } else if constexpr (requires { value.value; }) {
    write_json(json, value.value);
  } else if constexpr (requires { value.text; }) {
    json.text(value.text);
  } else {
    json.text(value);
  }
}

template <class T>
bool is_nothing(const T& value) {
  if constexpr (std::same_as<T, Instant>) {
    return value.us == 0 || value == kNever;
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (requires { value.value; }) {
    return value.value == 0;
  } else if constexpr (std::integral<T>) {
    return value == 0;
  } else {
    return false;
  }
}

// ---- Shapes ----

// S is what is shown: a row, a view that is one or has one as `row`, or a struct made for it.
template <class S>
class Shape {
 public:
  using Write = void (*)(JsonWriter&, const S&);

  // The shown fields of a record, from where the last call ended through the one with this name;
  // without it all that are left.
  template <class Row>
  Shape& record(std::string_view through = {}) {
    const std::size_t first = taken_;
    bool done = false;
    record::each_field<Row>([&]<std::size_t I>() {
      if (I < first || done) return;
      taken_ = I + 1;
      if constexpr (record::kField<Row, I>.show != record::Show::kHidden) add_field<Row, I>();
      done = record::kField<Row, I>.name == through;
    });
    VX_ASSERT(done || through.empty());
    return *this;
  }

  // A field that is computed; Get is called with what is shown.
  template <auto Get>
  Shape& shows(std::string_view name, std::string_view doc) {
    using Value = std::remove_cvref_t<std::invoke_result_t<decltype(Get), const S&>>;
    using Plain = typename UnwrapOptional<Value>::type;
    constexpr bool kMayMiss = !std::same_as<Value, Plain>;
    return shows(
        {name,
         json_type<Plain>(),
         doc,
         kMayMiss ? Presence::kNullable : Presence::kAlways,
         {},
         json_words<Plain>()},
        [](JsonWriter& json, const S& shown) { write_json(json, std::invoke(Get, shown)); });
  }
  // One with a form of its own, whose value is written by a function.
  Shape& shows(const Field& declared, Write written_by) {
    fields_.push_back(declared);
    writes_.push_back(written_by);
    return *this;
  }

  // Describes a field that was added before in other words.
  Shape& means(std::string_view name, std::string_view doc) {
    const auto field = std::ranges::find(fields_, name, &Field::name);
    VX_ASSERT(field != fields_.end());
    field->doc = doc;
    return *this;
  }

  std::span<const Field> fields() const { return fields_; }

  void write(JsonWriter& json, const S& shown) const {
    json.begin_object();
    write_fields(json, shown);
    json.end_object();
  }
  // Without the braces.
  void write_fields(JsonWriter& json, const S& shown) const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      json.key(fields_[i].name);
      writes_[i](json, shown);
    }
  }
  // With null for this field and all that follow.
  void write_until(std::string_view name, JsonWriter& json, const S& shown) const {
    bool until = true;
    json.begin_object();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      until = until && fields_[i].name != name;
      json.key(fields_[i].name);
      until ? writes_[i](json, shown) : void(json.null());
    }
    json.end_object();
  }

 private:
  template <class Row>
  static const Row& row_in(const S& shown) {
    if constexpr (std::derived_from<S, Row>) {
      return shown;
    } else {
      return shown.row;
    }
  }

  template <class Row, std::size_t I>
  void add_field() {
    using record::Show;
    constexpr auto kOne = record::kField<Row, I>;
    using Value = std::remove_cvref_t<decltype(kOne.get(std::declval<const Row&>()))>;
    using Plain = typename UnwrapOptional<Value>::type;
    constexpr bool kMayMiss = kOne.show == Show::kNullable || kOne.show == Show::kNullBefore ||
                              !std::same_as<Value, Plain>;
    const Type type = kOne.show == Show::kDocument ? Type::kAny : json_type<Plain>();
    shows({kOne.name,
           type,
           kOne.meaning,
           kMayMiss ? Presence::kNullable : Presence::kAlways,
           {},
           json_words<Plain>()},
          write_field<Row, I>);
  }

  template <class Row, std::size_t I>
  static void write_field(JsonWriter& json, const S& shown) {
    using record::Show;
    constexpr auto kOne = record::kField<Row, I>;
    const auto& value = kOne.get(row_in<Row>(shown));
    if constexpr (kOne.show == Show::kDocument) {
      json.raw(value.empty() ? std::string_view("{}") : std::string_view(value));
    } else if (kOne.show == Show::kNullable && is_nothing(value)) {
      json.null();
    } else {
      write_json(json, value);
    }
  }

  std::size_t taken_ = 0;  // of the fields of the record
  std::vector<Field> fields_;
  std::vector<Write> writes_;
};

}  // namespace vortex::api
