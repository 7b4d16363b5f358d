#include "net/head_check.h"

#include <string>

#include <fmt/format.h>

namespace vortex::net {
namespace {

std::unexpected<Refusal> malformed(std::string_view what) {
  return std::unexpected(Refusal{400, fmt::format("malformed headers: {}", what)});
}

std::unexpected<Refusal> too_large(bool in_request_line, std::size_t bytes_max) {
  if (in_request_line) {
    return std::unexpected(Refusal{414, "the request line is too long"});
  }
  return std::unexpected(
      Refusal{431, fmt::format("the headers are larger than {} bytes", bytes_max)});
}

}  // namespace

std::expected<std::size_t, Refusal> HeadCheck::find_end(std::string_view bytes,
                                                        std::size_t bytes_max) {
  for (; checked_ < bytes.size() && checked_ < bytes_max; ++checked_) {
    const auto c = static_cast<unsigned char>(bytes[checked_]);
    if (c > 0x20 && c != 0x7F) continue;
    if (c == ' ' || c == '\t') {
      if (checked_ == line_begins_) return malformed("a line that starts with a space");
      continue;
    }
    if (c == '\n') return malformed("a line feed without a carriage return");
    if (c != '\r') return malformed("a control character");
    if (checked_ + 1 == bytes.size()) break;  // its line feed may still come
    if (bytes[checked_ + 1] != '\n') return malformed("a carriage return without a line feed");
    if (checked_ == line_begins_) {
      if (checked_ == 0) return malformed("an empty request line");
      return checked_ + 2;
    }
    ++checked_;
    line_begins_ = checked_ + 1;
  }
  if (checked_ >= bytes_max) return too_large(line_begins_ == 0, bytes_max);
  return 0;
}

}  // namespace vortex::net
