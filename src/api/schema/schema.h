#pragma once
// What the JSON objects of the interface look like: every field with its type and meaning.
//
// The OpenAPI description is made from it, and a test holds every real answer against it: a field
// that is written must be declared here, a declared one must be there. Append-only.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/states.h"

namespace vortex::api {

enum class Type : std::uint8_t {
  kText,
  kInteger,
  kBoolean,
  kTime,      // 2026-02-22T22:59:55.123456Z
  kAny,       // any JSON value
  kTextMap,   // names to texts
  kCountMap,  // names to whole numbers
  kTextList,
  kObject,
  kObjectList,
};

enum class Presence : std::uint8_t { kAlways, kNullable, kOptional, kOptionalNullable };

using Names = std::span<const std::string_view>;

struct Field {
  std::string_view name;
  Type type = Type::kText;
  std::string_view doc;
  Presence presence = Presence::kAlways;
  std::string_view of = {};  // the schema of kObject and kObjectList
  Names values = {};         // when only these are possible
};

struct Schema {
  std::string_view name;
  std::string_view doc;
  std::span<const Field> fields;
  std::string_view base = {};  // has all fields of that one as well
  bool open = false;           // may have fields that are not named here
};

const Schema* find_schema(std::string_view name);
std::span<const Schema> all_schemas();

// The rows by topic; all_schemas() is these in a row.
std::span<const Schema> work_schemas();
std::span<const Schema> fleet_schemas();
std::span<const Schema> system_schemas();

// Short ways to write the tables.
constexpr Field text(std::string_view name, std::string_view doc) {
  return {name, Type::kText, doc};
}
constexpr Field integer(std::string_view name, std::string_view doc) {
  return {name, Type::kInteger, doc};
}
constexpr Field boolean(std::string_view name, std::string_view doc) {
  return {name, Type::kBoolean, doc};
}
constexpr Field time(std::string_view name, std::string_view doc) {
  return {name, Type::kTime, doc};
}
constexpr Field any(std::string_view name, std::string_view doc) { return {name, Type::kAny, doc}; }
constexpr Field texts(std::string_view name, std::string_view doc) {
  return {name, Type::kTextList, doc};
}
constexpr Field text_map(std::string_view name, std::string_view doc) {
  return {name, Type::kTextMap, doc};
}
constexpr Field count_map(std::string_view name, std::string_view doc) {
  return {name, Type::kCountMap, doc};
}
constexpr Field object(std::string_view name, std::string_view of, std::string_view doc) {
  return {name, Type::kObject, doc, Presence::kAlways, of};
}
constexpr Field list(std::string_view name, std::string_view of, std::string_view doc) {
  return {name, Type::kObjectList, doc, Presence::kAlways, of};
}
constexpr Field one_of(std::string_view name, Names values, std::string_view doc) {
  return {name, Type::kText, doc, Presence::kAlways, {}, values};
}
constexpr Field nullable(Field field) {
  field.presence = Presence::kNullable;
  return field;
}
constexpr Field optional(Field field) {
  const bool nullable_too = field.presence == Presence::kNullable;
  field.presence = nullable_too ? Presence::kOptionalNullable : Presence::kOptional;
  return field;
}
constexpr bool may_be_null(const Field& field) {
  return field.presence == Presence::kNullable || field.presence == Presence::kOptionalNullable;
}
constexpr bool may_be_absent(const Field& field) {
  return field.presence == Presence::kOptional || field.presence == Presence::kOptionalNullable;
}

inline constexpr Field kNextCursor =
    nullable(text("next_cursor", "pass it as cursor to get the next page; null: last page"));

// What workers can be filtered by: a state, or the two that together are called active.
inline constexpr std::size_t kActiveFilter = kWords<WorkerState>.size();
inline constexpr auto kWorkerFilterNames = [] {
  std::array<std::string_view, kActiveFilter + 1> names{};
  std::ranges::copy(kWords<WorkerState>, names.begin());
  names[kActiveFilter] = "ACTIVE";
  return names;
}();

// The description of the interface as OpenAPI 3.1, made from the route table and the schemas.
// Nothing is written by hand, so it cannot say what the program does not do.

std::string openapi_json(std::string_view version);

}  // namespace vortex::api
