#include "net/http_write.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace vortex::net {
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
  out += "\r\n";
}

}  // namespace vortex::net
