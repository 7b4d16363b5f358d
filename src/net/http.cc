#include "net/http.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace vortex::net {

std::string_view to_text(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      break;
  }
  return "OTHER";
}

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  const auto item =
      std::ranges::find(items, name, [](const auto& pair) { return std::string_view(pair.first); });
  if (item == items.end()) return std::nullopt;
  return item->second;
}

namespace {

enum class Plus { kStays, kIsSpace };

// Undoes percent-encoding; the text says what is wrong, null: nothing.
const char* decode(std::string_view text, Plus plus, std::string& out) {
  out.clear();
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return "a % without two hex digits";
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::kIsSpace) {
      c = ' ';
    }
    if (c == '\0') return "a NUL character";
    out.push_back(c);
  }
  return is_utf8(out) ? nullptr : "bytes that are not UTF-8";
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

const char* read_segment(std::string_view raw, std::string& out) {
  if (raw.empty()) return "an empty segment in the path";
  if (const char* fault = decode(raw, Plus::kStays, out)) return fault;
  if (out == "." || out == "..") return "a . or .. segment in the path";
  return has_control(out) ? "a control character in the path" : nullptr;
}

// `path` without its first slash; one slash at the end means nothing.
const char* read_path(std::string_view path, std::vector<std::string>& segments) {
  if (path.ends_with('/')) {
    path.remove_suffix(1);
    if (path.empty()) return "an empty segment in the path";
  }
  while (!path.empty()) {
    if (segments.size() == kSegmentsMax) return "more than 32 segments in the path";
    const std::size_t slash = path.find('/');
    if (const char* fault = read_segment(path.substr(0, slash), segments.emplace_back())) {
      return fault;
    }
    if (slash == path.npos) break;
    path.remove_prefix(slash + 1);
    if (path.empty()) return "an empty segment in the path";
  }
  return nullptr;
}

const char* read_query(std::string_view text, Query& query) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    auto& [name, value] = query.items.emplace_back();
    if (const char* fault = decode(item.substr(0, equals), Plus::kIsSpace, name)) return fault;
    if (equals == item.size()) continue;
    if (const char* fault = decode(item.substr(equals + 1), Plus::kIsSpace, value)) return fault;
  }
  return nullptr;
}

}  // namespace

std::optional<Refusal> read_target(std::string_view target, Request& request) {
  request.segments.clear();
  request.query.items.clear();
  if (target.size() > kTargetBytesMax) {
    return Refusal{414, fmt::format("the target is longer than {} bytes", kTargetBytesMax)};
  }
  request.target = target;
  if (!target.starts_with('/')) {
    return Refusal{400, "the target must be a path that starts with /"};
  }
  if (target.find('#') != target.npos) return Refusal{400, "a # in the target"};
  const std::size_t mark = std::min(target.find('?'), target.size());
  const char* fault = read_path(target.substr(1, mark - 1), request.segments);
  if (fault == nullptr && mark < target.size()) {
    fault = read_query(target.substr(mark + 1), request.query);
  }
  if (fault == nullptr) return std::nullopt;
  return Refusal{400, fmt::format("the target has {}", fault)};
}

namespace {

struct Reason {
  int status;
  std::string_view text;
};

constexpr Reason kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

void append_clean(std::string& out, std::string_view text) {
  for (const char c : text) {
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
    out.push_back(control ? ' ' : c);
  }
}

void append_frame(std::string& out, const AnswerHead& head) {
  if (head.frame == BodyFrame::kChunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (head.frame == BodyFrame::kLength &&
             (head.status == 304 || may_have_body(head.status))) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", head.length);
  }
}

}  // namespace

std::string_view reason_phrase(int status) {
  const auto* reason = std::ranges::find(kReasons, status, &Reason::status);
  return reason == std::end(kReasons) ? "Status" : reason->text;
}

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

bool is_framing_header(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames{"Connection", "Content-Length",
                                                   "Transfer-Encoding"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view each) { return same_ignoring_case(each, name); });
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  append_clean(out, name);
  out += ": ";
  append_clean(out, value);
  out += "\r\n";
}

void append_answer_head(std::string& out, const AnswerHead& head) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", head.status,
                 reason_phrase(head.status));
  append_frame(out, head);
  if (!head.content_type.empty() && may_have_body(head.status)) {
    append_header(out, "Content-Type", head.content_type);
  }
  if (!head.keep_alive) {
    out += "Connection: close\r\n";
  } else if (!head.http11) {
    out += "Connection: keep-alive\r\n";
  }
  if (head.headers != nullptr) {
    for (const auto& [name, value] : *head.headers) {
      if (!is_framing_header(name)) append_header(out, name, value);
    }
  }
  if (head.defaults != nullptr) {
    for (const auto& [name, value] : *head.defaults) {
      if (head.headers == nullptr || !find_header(*head.headers, name)) {
        append_header(out, name, value);
      }
    }
  }
  out += "\r\n";
}

}  // namespace vortex::net
