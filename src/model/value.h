#pragma once
// Values out of JSON texts, picked by path and compared without ever rounding a number.
//
// For decisions of the core: params and outputs are read once, only what is asked for is kept, and
// what is too large to be kept says so. Strict, linear in the text, of bounded depth. A list or an
// object stays the JSON text it was. Pure functions.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/expression.h"

namespace vortex {

inline constexpr std::size_t kValueBytesMax = 16'384;  // of one picked value, as JSON
inline constexpr std::size_t kJsonDepthMax = 64;

struct Value {
  enum class Kind : std::uint8_t {
    kMissing,
    kTooLarge,  // more than kValueBytesMax
    kNull,
    kBoolean,
    kNumber,
    kText,
    kList,
    kObject,
  };
  Kind kind = Kind::kMissing;
  std::string text = {};  // a text unescaped, everything else as JSON

  bool is_there() const { return kind != Kind::kMissing && kind != Kind::kNull; }
  friend bool operator==(const Value&, const Value&) = default;
};

// "a string", "a list".
std::string_view kind_text(Value::Kind kind);

using Steps = std::vector<PathStep>;

// The values at these paths, one each. Precondition: sorted, each once. The error says what is
// wrong with the text; a key that is given twice on a wanted way is wrong as well.
std::expected<std::vector<Value>, std::string> pick_values(std::string_view json,
                                                           std::span<const Steps* const> paths,
                                                           std::size_t bytes_max = kValueBytesMax);

// The items of a list, or the keys of an object as texts. Precondition: that is its kind.
std::vector<Value> items_of(const Value& value, std::size_t bytes_max = kValueBytesMax);

// The value as compact JSON. Precondition: there is one.
std::string json_of(const Value& value);
std::string json_quoted(std::string_view text);
// The value that this JSON text is. Precondition: JSON.
Value value_of_json(std::string_view json);

// What a map over this value goes over: a string of a list unescaped, everything else as compact
// JSON, members of an object as {"key":"...","value":...} in the order of the text. The error
// completes "the value ...".
std::expected<std::vector<std::string>, std::string> item_texts(const Value& value,
                                                                std::size_t items_max);

// The items of a value, sorted once, so that asking for one costs little however often it is asked.
class ItemSet {
 public:
  // Precondition: a list or an object.
  explicit ItemSet(const Value& value);

  // Texts are equal to the letter, numbers by what they stand for, lists and objects as written.
  bool contains(const Value& wanted) const;
  std::size_t bytes() const;  // about as many as it takes up

 private:
  std::string_view key(std::size_t place) const;

  std::string keys_;                   // one after the other
  std::vector<std::uint32_t> begins_;  // of each, and the end of the last
};

// By the numbers they stand for: 1.0 equals 1e0. Precondition: numbers of JSON.
std::strong_ordering compare_numbers(std::string_view a, std::string_view b);

}  // namespace vortex
