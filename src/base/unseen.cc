#include "base/unseen.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"

namespace vortex {
namespace {

bool is_direction_mark(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Line and paragraph separators end a line for some readers and for none of our counts.
bool is_hidden_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

char32_t code_at(std::string_view text, std::size_t at, std::size_t bytes) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  if (bytes < 2) return byte(0);
  char32_t code = byte(0) & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) code = (code << 6U) | (byte(i) & 0x3FU);
  return code;
}

}  // namespace

std::optional<Unseen> find_unseen(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    const std::size_t bytes = std::max<std::size_t>(character_bytes(text, at), 1);
    const char32_t code = code_at(text, at, bytes);
    const bool direction = bytes > 1 && is_direction_mark(code);
    if (direction || is_hidden_control(code)) return Unseen{at, bytes, code, direction};
    at += bytes;
  }
  return std::nullopt;
}

std::string unseen_text(const Unseen& unseen) {
  if (unseen.code < 0x20) return {'^', static_cast<char>('@' + unseen.code)};
  if (unseen.code == 0x7F) return "^?";
  return fmt::format("<U+{:04X}>", static_cast<std::uint32_t>(unseen.code));
}

}  // namespace vortex
