#pragma once
// Requests and answers as plain data, the same for server and client.
//
// No type of the HTTP library appears here, so that what handles requests compiles without it.

#include <cstddef>
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
  std::string peer;        // address of the other end, for the log
  std::string client_id;   // of the connection, for the log: request ids are made from it
  bool encrypted = false;  // it came over TLS
  std::string peer_name;   // common name of the client's verified certificate; empty: none
  bool wiped = false;      // set by its handler: its memory is wiped once it was answered
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
  bool wiped = false;  // its memory is wiped once it was sent
};

// The target of a request, taken apart: decoded segments of the path and items of the query.
//
// Only the origin form is accepted (/path?query). Whatever two readers could understand
// differently is refused: bad escapes, NUL, dot segments, empty segments, bytes that are not UTF-8.

constexpr std::size_t kTargetBytesMax = 8 * 1024;
constexpr std::size_t kSegmentsMax = 32;

// Why a request does not reach the handler: what it is answered with.
struct Refusal {
  int status = 400;
  std::string detail;
};

// Fills target, segments and query of the request; set: refused.
std::optional<Refusal> read_target(std::string_view target, Request& request);

// Heads of answers and requests as bytes.
//
// Nothing that a caller puts into a header can break the framing: control characters become spaces,
// and the lines that describe the framing are written here and nowhere else. Pure functions.

enum class BodyFrame : std::uint8_t { kLength, kChunked, kUntilClose };

struct AnswerHead {
  int status = 200;
  std::string_view content_type;
  const Headers* headers = nullptr;
  const Headers* defaults = nullptr;  // those that `headers` does not have are added
  BodyFrame frame = BodyFrame::kLength;
  std::uint64_t length = 0;
  bool keep_alive = true;
  bool http11 = true;
};
void append_answer_head(std::string& out, const AnswerHead& head);

// Any header with this name would contradict what append_answer_head writes.
bool is_framing_header(std::string_view name);
void append_header(std::string& out, std::string_view name, std::string_view value);
std::string_view reason_phrase(int status);
// 1xx, 204 and 304 have no body, whatever the handler said.
bool may_have_body(int status);

}  // namespace vortex::net
