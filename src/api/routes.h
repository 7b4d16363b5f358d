#pragma once
// The route table: everything the HTTP interface does, one row each.
//
// It serves requests, makes the OpenAPI description, and is what the tests walk: every row times
// every role, and every row's answer against its schema. Append-only: paths are an interface.

#include <cstdint>
#include <span>
#include <string_view>

#include "api/access.h"
#include "api/call.h"
#include "api/schema.h"
#include "net/http.h"

namespace vortex::api {

struct QueryParam {
  std::string_view name;
  Type type = Type::kText;
  std::string_view doc;
  Names values = {};
  bool required = false;
};

enum class Body : std::uint8_t { kNone, kJson, kRaw };

struct Route {
  net::Method method{};
  std::string_view path;  // /api/runs/{run}; the name of a parameter says which form it has
  Need need{};
  std::string_view id;  // of the operation
  std::string_view summary;
  std::span<const QueryParam> query = {};
  Body body = Body::kNone;
  std::string_view body_schema = {};
  int success = 200;
  std::string_view answer_type = "application/json";
  std::string_view answer_schema = {};  // empty: text, or nothing
  Handled (*handle)(Call&) = nullptr;
};

std::span<const Route> all_routes();

// The rows by topic; all_routes() is these in a row.
std::span<const Route> work_routes();
std::span<const Route> fleet_routes();
std::span<const Route> system_routes();

inline constexpr QueryParam kLimit{"limit", Type::kInteger, "maximum number of entries per page"};
inline constexpr QueryParam kCursor{"cursor", Type::kText, "next_cursor of the previous page"};

}  // namespace vortex::api
