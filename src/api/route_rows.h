#pragma once
// Short ways to write rows of the route table. Only included by the files that hold the rows.
// Everything is constexpr: the table is data, fixed when the program is built.

#include <span>
#include <string_view>

#include "api/routes.h"

namespace vortex::api::rows {

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
  return route;
}

constexpr Route with(Route route, std::span<const QueryParam> query) {
  route.query = query;
  return route;
}

constexpr Route taking(Route route, std::string_view schema, int success = 200) {
  route.body = Body::kJson;
  route.body_schema = schema;
  route.success = success;
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
  route.success = 204;
  return route;
}

constexpr Route nothing(Route route) {
  route.success = 204;
  return route;
}

}  // namespace vortex::api::rows
