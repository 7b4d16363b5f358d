#include "model/text_check.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace vortex {
namespace {

constexpr std::size_t kQuotedBytesMax = kNameBytesMax;  // a valid name is never cut

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_char(char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; }

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

bool is_control(char c) { return byte(c) < 0x20 || byte(c) == 0x7f; }

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kQuotedBytesMax)) {
    // Bytes above ASCII too: the cut may have split a character.
    if (is_control(c) || byte(c) > 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte(c));
    } else {
      out += c;
    }
  }
  out += '\'';
  if (text.size() > kQuotedBytesMax) {
    fmt::format_to(std::back_inserter(out), "... ({} bytes)", text.size());
  }
  return out;
}

std::string to_text(Duration duration) {
  if (duration.us % seconds(1).us == 0) return fmt::format("{}s", duration.us / seconds(1).us);
  if (duration.us % millis(1).us == 0) return fmt::format("{}ms", duration.us / millis(1).us);
  return fmt::format("{}us", duration.us);
}

Complaint complain_of_name(std::string_view what, std::string_view name) {
  if (name.empty()) return fmt::format("{} is empty", what);
  if (name.size() > kNameBytesMax) {
    return fmt::format("{} {} is too long; at most {} characters are allowed", what,
                       in_quotes(name), kNameBytesMax);
  }
  if (!std::all_of(name.begin(), name.end(), is_name_char)) {
    return fmt::format("{} {} may contain only letters, digits, '_', '.' and '-'", what,
                       in_quotes(name));
  }
  if (!is_letter_or_digit(name.front())) {
    return fmt::format("{} {} must start with a letter or a digit", what, in_quotes(name));
  }
  return std::nullopt;
}

Complaint complain_of_line(std::string_view what, std::string_view text, LineRule rule) {
  if (text.size() < rule.bytes_min) return fmt::format("{} is empty", what);
  if (text.size() > rule.bytes_max) {
    return fmt::format("{} {} is too long; at most {} bytes are allowed", what, in_quotes(text),
                       rule.bytes_max);
  }
  if (std::any_of(text.begin(), text.end(), is_control)) {
    return fmt::format("{} {} contains a control character", what, in_quotes(text));
  }
  return std::nullopt;
}

Complaint complain_of_dots(std::string_view what, std::string_view id) {
  if (id != "." && id != "..") return std::nullopt;
  return fmt::format("{} {} is not allowed: '.' and '..' have a special meaning in paths and URLs",
                     what, in_quotes(id));
}

Complaint complain_of_argument(std::string_view what, std::string_view text,
                               std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return fmt::format("{} {} is too long; at most {} bytes are allowed", what, in_quotes(text),
                       bytes_max);
  }
  if (text.find('\0') != std::string_view::npos) {
    return fmt::format("{} {} contains a zero byte", what, in_quotes(text));
  }
  return std::nullopt;
}

Complaint complain_of_twice(std::string_view what, std::vector<std::string_view> texts) {
  std::sort(texts.begin(), texts.end());
  const auto twice = std::adjacent_find(texts.begin(), texts.end());
  if (twice == texts.end()) return std::nullopt;
  return fmt::format("{} {} is given twice", what, in_quotes(*twice));
}

Complaint complain_of_number(std::string_view what, std::int64_t number, std::int64_t low,
                             std::int64_t high) {
  if (number >= low && number <= high) return std::nullopt;
  return fmt::format("{} is {}; the allowed range is {} to {}", what, number, low, high);
}

Complaint complain_of_delay(std::string_view what, Duration delay, Duration high) {
  if (delay >= Duration{} && delay <= high) return std::nullopt;
  return fmt::format("{} is {}; the allowed range is 0s to {}", what, to_text(delay),
                     to_text(high));
}

Complaint complain_of_timeout(std::string_view what, std::optional<Duration> timeout) {
  // The upper end keeps `now + timeout` a valid Instant.
  if (!timeout || (*timeout > Duration{} && *timeout <= kForever)) return std::nullopt;
  return fmt::format("{} is {}; it must be more than 0s", what, to_text(*timeout));
}

}  // namespace vortex
