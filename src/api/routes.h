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
#include "api/schema/schema.h"
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

// How large a body may be: 64 KiB, 4 MiB, or controller.max_body_mib.
enum class BodySize : std::uint8_t { kSmall, kMedium, kLarge };

// Which controller can answer it: any, from the database and what it knows itself; only the leader;
// the leader if a live stream of events is wanted; or the leader if its body is a login pass, which
// counts once.
enum class Served : std::uint8_t { kAnywhere, kByLeader, kByLeaderIfStreamed, kByLeaderIfPass };

struct Route {
  net::Method method{};
  std::string_view path;  // /api/runs/{run}; the name of a parameter says which form it has
  Need need{};
  std::string_view id;  // of the operation
  std::string_view summary;
  std::span<const QueryParam> query = {};
  Body body = Body::kNone;
  BodySize body_size = BodySize::kSmall;
  std::string_view body_schema = {};
  int success = 200;
  std::string_view answer_type = "application/json";
  std::string_view answer_schema = {};  // empty: text, or nothing
  Handled (*handle)(Call&) = nullptr;
  bool quiet = false;  // everyday traffic of workers: only refusals are audited
  Served served = Served::kAnywhere;
  bool for_attempts = false;  // its task may be asked for with the token of its attempt
  bool keyed = false;         // with an Idempotency-Key, a repeated request counts once
};

std::span<const Route> all_routes();

// The rows by topic; all_routes() is these in a row.
std::span<const Route> work_routes();
std::span<const Route> fleet_routes();
std::span<const Route> system_routes();

inline constexpr QueryParam kLimit{"limit", Type::kInteger, "maximum number of entries per page"};
inline constexpr QueryParam kCursor{"cursor", Type::kText, "next_cursor of the previous page"};

}  // namespace vortex::api

namespace vortex::api::rows {

// Short ways to write rows of the route table. Only included by the files that hold the rows.
// Everything is constexpr: the table is data, fixed when the program is built.

constexpr Route get(std::string_view path, std::string_view id, std::string_view summary,
                    std::string_view schema, Handled (*handle)(Call&)) {
  Route route;
  route.method = net::Method::kGet;
  route.path = path;
  route.need = Need::kViewer;
  route.id = id;
  route.summary = summary;
  route.answer_schema = schema;
  route.handle = handle;
  return route;
}

constexpr Route post(std::string_view path, Need need, std::string_view id,
                     std::string_view summary, std::string_view schema, Handled (*handle)(Call&)) {
  Route route = get(path, id, summary, schema, handle);
  route.method = net::Method::kPost;
  route.need = need;
  route.served = Served::kByLeader;
  return route;
}

constexpr Route served(Route route, Served by) {
  route.served = by;
  return route;
}

constexpr Route with(Route route, std::span<const QueryParam> query) {
  route.query = query;
  return route;
}

constexpr Route keyed(Route route) {
  route.keyed = true;
  return route;
}

constexpr Route taking(Route route, std::string_view schema, int success = 200) {
  route.body = Body::kJson;
  route.body_schema = schema;
  route.success = success;
  return route;
}

constexpr Route medium(Route route) {
  route.body_size = BodySize::kMedium;
  return route;
}

constexpr Route large(Route route) {
  route.body_size = BodySize::kLarge;
  return route;
}

constexpr Route as(Route route, net::Method method) {
  route.method = method;
  return route;
}

constexpr Route text(Route route) {
  route.answer_type = "text/plain";
  return route;
}

constexpr Route bytes(Route route) {
  route.answer_type = "application/octet-stream";
  return route;
}

constexpr Route raw(Route route) {
  route.body = Body::kRaw;
  route.body_size = BodySize::kMedium;
  route.success = 204;
  return route;
}

// It changes nothing: its answer is what it found.
constexpr Route checking(Route route) {
  route.success = 200;
  return route;
}

constexpr Route quiet(Route route) {
  route.quiet = true;
  return route;
}

constexpr Route for_attempts(Route route) {
  route.for_attempts = true;
  return route;
}

constexpr Route nothing(Route route) {
  route.success = 204;
  return route;
}

}  // namespace vortex::api::rows
