#include "base/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "base/assert.h"

namespace vortex {
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

}  // namespace vortex
