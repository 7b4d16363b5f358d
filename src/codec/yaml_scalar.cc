// What a plain scalar means: the small part on which all readers of YAML agree.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"
#include "codec/yaml_document.h"

namespace vortex::codec {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && is_digit(text[at + count])) ++count;
  return count;
}

// A number of JSON.
bool is_plain_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_at(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t decimals = digits_at(text, at + 1);
    if (decimals == 0) return false;
    at += 1 + decimals;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = digits_at(text, at);
    if (exponent == 0 || exponent > 2) return false;
    at += exponent;
  }
  return at == text.size();
}

// 0644, 0x1F, 0o17, 0b1, +5, .5, 5., 1_000, 1e1000, .inf, .nan
bool is_odd_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.empty()) return false;
  const std::string lower = lower_case(text);
  if (lower == ".inf" || lower == ".nan") return true;
  const bool based = lower.starts_with("0x") || lower.starts_with("0o") || lower.starts_with("0b");
  if (based) {
    return lower.size() > 2 && lower.find_first_not_of("0123456789abcdef_", 2) == lower.npos;
  }
  if (!is_digit(lower.front()) && lower.front() != '.') return false;
  if (lower.find_first_of("0123456789") == lower.npos) return false;
  if (std::ranges::count(lower, '.') > 1) return false;  // 10.0.0.1
  const std::size_t rest = lower.find_first_not_of("0123456789._");
  if (rest == lower.npos) return true;
  if (lower[rest] != 'e') return false;
  const std::size_t exponent = lower.find_first_not_of("+-", rest + 1);
  return exponent != lower.npos && lower.find_first_not_of("0123456789_", exponent) == lower.npos;
}

}  // namespace

ScalarKind scalar_kind(std::string_view plain) {
  constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 16> kDisputed{
      "True", "TRUE", "False", "FALSE", "yes", "Yes", "YES", "no",
      "No",   "NO",   "on",    "On",    "ON",  "off", "Off", "OFF"};
  if (std::ranges::find(kNulls, plain) != kNulls.end()) return ScalarKind::kNull;
  if (plain == "true" || plain == "false") return ScalarKind::kBoolean;
  if (std::ranges::find(kDisputed, plain) != kDisputed.end()) return ScalarKind::kAmbiguous;
  if (is_plain_number(plain)) return ScalarKind::kNumber;
  return is_odd_number(plain) ? ScalarKind::kAmbiguous : ScalarKind::kText;
}

}  // namespace vortex::codec
