#include "base/text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/assert.h"

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

namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kDayUs = 86'400LL * kSecondUs;
constexpr std::int64_t kFirstUs = -719'528LL * kDayUs;  // 0000-01-01
constexpr std::int64_t kEndUs = 2'932'897LL * kDayUs;   // 10000-01-01

constexpr std::string_view kShape = "0000-00-00 00:00:00.000000";

void put(TimeText& out, std::size_t at, std::size_t digits, std::uint32_t value) {
  for (std::size_t i = at + digits; i-- > at;) {
    out[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

std::uint32_t number(std::string_view text, std::size_t at, std::size_t digits) {
  std::uint32_t value = 0;
  for (const char c : text.substr(at, digits))
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  return value;
}

bool fits_shape(std::string_view text) {
  if (text.size() != kTimeTextSize) return false;
  for (std::size_t i = 0; i < kTimeTextSize; ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return false;
  }
  return true;
}

TimeText text_of_second(std::int64_t second) {
  namespace ch = std::chrono;
  const ch::sys_seconds at{ch::seconds(second)};
  const auto midnight = ch::floor<ch::days>(at);
  const ch::year_month_day day{midnight};
  const auto in_day = static_cast<std::uint32_t>((at - midnight).count());
  TimeText out;
  std::ranges::copy(kShape, out.begin());
  put(out, 0, 4, static_cast<std::uint32_t>(static_cast<int>(day.year())));
  put(out, 5, 2, static_cast<unsigned>(day.month()));
  put(out, 8, 2, static_cast<unsigned>(day.day()));
  put(out, 11, 2, in_day / 3600);
  put(out, 14, 2, in_day / 60 % 60);
  put(out, 17, 2, in_day % 60);
  return out;
}

// Most instants that are written lie in the same second as the one before.
struct Second {
  std::int64_t number = std::numeric_limits<std::int64_t>::min();
  TimeText text{};
};

}  // namespace

bool has_time_text(Instant at) { return at.us >= kFirstUs && at.us < kEndUs; }

TimeText time_text(Instant at) {
  VX_ASSERT(has_time_text(at));
  thread_local Second last;
  const std::int64_t fraction = (at.us % kSecondUs + kSecondUs) % kSecondUs;
  const std::int64_t second = (at.us - fraction) / kSecondUs;
  if (second != last.number) last = {second, text_of_second(second)};
  put(last.text, 20, 6, static_cast<std::uint32_t>(fraction));
  return last.text;
}

std::optional<Instant> parse_time_text(std::string_view text) {
  if (!fits_shape(text)) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year{static_cast<int>(number(text, 0, 4))},
                                        std::chrono::month{number(text, 5, 2)},
                                        std::chrono::day{number(text, 8, 2)}};
  if (!day.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{day}.time_since_epoch().count();
  const std::int64_t whole =
      number(text, 11, 2) * 3600 + number(text, 14, 2) * 60 + number(text, 17, 2);
  return Instant{days * kDayUs + whole * 1'000'000 + number(text, 20, 6)};
}

namespace {

constexpr std::size_t kEditsMax = 2;
constexpr std::size_t kLengthMax = 100;  // longer texts are not typing mistakes
constexpr std::size_t kFar = kEditsMax + 1;

// With two edits almost any short name becomes any other.
std::size_t edits_allowed(std::string_view wanted) {
  if (wanted.size() < 3) return 0;
  return wanted.size() < 5 ? 1 : kEditsMax;
}

std::size_t length_gap(std::string_view a, std::string_view b) {
  return a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
}

// The number of single-character edits from a to b, or kFar. Only the cells of the table within
// kEditsMax of its diagonal can lead to a small answer, so only those are computed: cell d of row i
// stands for the first i characters of a against the first i + d - kEditsMax of b.
using Band = std::array<std::size_t, 2 * kEditsMax + 1>;

std::size_t edits(std::string_view a, std::string_view b) {
  if (length_gap(a, b) > kEditsMax) return kFar;
  while (!a.empty() && !b.empty() && lower(a.front()) == lower(b.front())) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  Band above{};
  for (std::size_t d = 0; d < above.size(); ++d) above[d] = d < kEditsMax ? kFar : d - kEditsMax;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Band row{};
    for (std::size_t d = 0; d < row.size(); ++d) {
      const std::size_t j = i + d - kEditsMax;  // wraps below 0 to far above b.size()
      row[d] = kFar;
      if (j > b.size()) continue;
      if (j > 0) row[d] = above[d] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      if (d + 1 < row.size()) row[d] = std::min(row[d], above[d + 1] + 1);
      if (d > 0) row[d] = std::min(row[d], row[d - 1] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) >= kFar) return kFar;
    above = row;
  }
  return above[b.size() + kEditsMax - a.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view wanted, std::span<const std::string_view> known) {
  if (wanted.empty() || wanted.size() > kLengthMax) return {};
  std::size_t best = edits_allowed(wanted) + 1;
  std::string_view nearest;
  for (const std::string_view name : known) {
    if (name.empty() || name.size() > kLengthMax) continue;
    const std::size_t distance = edits(wanted, name);
    if (distance >= best) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

namespace {

// user:secret@ in front of the host of a URI.
void hide_in_authority(std::string& text) {
  const std::size_t begin = text.find("://");
  if (begin == std::string::npos) return;
  const std::size_t end = text.find_first_of("/?", begin + 3);
  const std::size_t at = text.rfind('@', end);
  if (at == std::string::npos || at < begin) return;
  const std::size_t colon = text.find(':', begin + 3);
  if (colon == std::string::npos || colon > at) return;
  text.replace(colon + 1, at - colon - 1, "***");
}

// password=secret, as a parameter of a URI or a word of a list.
void hide_words(std::string& text) {
  for (const std::string_view word : {"password", "sslpassword"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      std::size_t begin = at + word.size();
      while (begin < text.size() && text[begin] == ' ') ++begin;
      if (begin >= text.size() || text[begin] != '=') continue;
      ++begin;
      while (begin < text.size() && text[begin] == ' ') ++begin;
      const bool quoted = begin < text.size() && text[begin] == '\'';
      std::size_t end = quoted ? text.find('\'', begin + 1) : text.find_first_of("& ", begin);
      if (quoted && end != std::string::npos) ++end;
      text.replace(begin, (end == std::string::npos ? text.size() : end) - begin, "***");
    }
  }
}

}  // namespace

std::string without_password(std::string_view url) {
  std::string text(url);
  hide_in_authority(text);
  hide_words(text);
  return text;
}

}  // namespace vortex
