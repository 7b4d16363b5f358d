#include "store/postgres/escape.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace vortex::store::postgres {
namespace {

constexpr char kMark = '\x01';

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0; });
}

}  // namespace

std::optional<std::string> escaped(std::string_view text) {
  const bool marked = !text.empty() && text.front() == kMark;
  if (!marked && (is_plain(text) || (text.find('\0') == std::string_view::npos && is_utf8(text)))) {
    return std::nullopt;
  }
  std::string out(1, kMark);
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text, 0);
    if (bytes == 0 || text.front() == '\0' || text.front() == '%') {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else {
      out += text.substr(0, bytes);
      text.remove_prefix(bytes);
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view stored) {
  if (stored.empty() || stored.front() != kMark) return std::nullopt;
  stored.remove_prefix(1);
  std::string out;
  while (!stored.empty()) {
    unsigned byte = 0;
    const bool coded =
        stored.front() == '%' && stored.size() >= 3 &&
        std::from_chars(stored.data() + 1, stored.data() + 3, byte, 16).ptr == stored.data() + 3;
    out += coded ? static_cast<char>(byte) : stored.front();
    stored.remove_prefix(coded ? 3 : 1);
  }
  return out;
}

}  // namespace vortex::store::postgres
