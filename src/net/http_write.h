#pragma once
// Heads of answers and requests as bytes.
//
// Nothing that a caller puts into a header can break the framing: control characters become spaces,
// and the lines that describe the framing are written here and nowhere else. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace vortex::net {

enum class BodyFrame : std::uint8_t { kLength, kChunked, kUntilClose };

struct AnswerHead {
  int status = 200;
  std::string_view content_type;
  const Headers* headers = nullptr;
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
