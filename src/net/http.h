#pragma once
// Requests and answers as plain data, the same for server and client.
//
// No type of the HTTP library appears here, so that what handles requests compiles without it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vortex::net {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };
std::string_view to_text(Method method);

using Headers = std::vector<std::pair<std::string, std::string>>;
// The first one with this name, in any case.
std::optional<std::string_view> find_header(const Headers& headers, std::string_view name);

struct Query {
  std::vector<std::pair<std::string, std::string>> items;  // decoded, in order
  std::optional<std::string_view> find(std::string_view name) const;
};

struct Request {
  Method method = Method::kGet;
  std::string target;                 // as it was sent
  std::vector<std::string> segments;  // of the path, decoded: /api/runs/r1 -> api, runs, r1
  Query query;
  Headers headers;
  std::string body;
  std::string peer;       // address of the other end, for the log
  std::string client_id;  // of the connection, for the log: request ids are made from it
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
};

}  // namespace vortex::net
