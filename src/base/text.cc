#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace vortex {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (byte_at(text, at) & 0xC0U) == 0x80U;
}

// The second byte has a narrower range where the shortest form, surrogates and the end of Unicode
// are decided.
bool second_fits(unsigned first, unsigned second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second <= 0x9F;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second <= 0x8F;
    default:
      return true;
  }
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  if (small >= 'a' && small <= 'f') return small - 'a' + 10;
  return -1;
}

std::size_t character_bytes(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text, at + i)) return 0;
  }
  return second_fits(first, byte_at(text, at + 1)) ? bytes : 0;
}

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at + 8 <= text.size()) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, 8);
      if ((word & kHighBits) != 0) break;
      at += 8;
    }
    if (at == text.size()) break;
    const std::size_t bytes = character_bytes(text, at);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

}  // namespace vortex
