#include "store/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/assert.h"

namespace vortex::store {
namespace {

constexpr std::int64_t kDayUs = 86'400LL * 1'000'000;
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

}  // namespace

bool has_time_text(Instant at) { return at.us >= kFirstUs && at.us < kEndUs; }

TimeText time_text(Instant at) {
  VX_ASSERT(has_time_text(at));
  std::int64_t days = at.us / kDayUs;
  std::int64_t rest = at.us % kDayUs;
  if (rest < 0) {
    rest += kDayUs;
    --days;
  }
  const std::chrono::year_month_day day{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  const auto in_day = static_cast<std::uint64_t>(rest);
  const auto whole = static_cast<std::uint32_t>(in_day / 1'000'000);
  TimeText out;
  std::ranges::copy(kShape, out.begin());
  put(out, 0, 4, static_cast<std::uint32_t>(static_cast<int>(day.year())));
  put(out, 5, 2, static_cast<unsigned>(day.month()));
  put(out, 8, 2, static_cast<unsigned>(day.day()));
  put(out, 11, 2, whole / 3600);
  put(out, 14, 2, whole / 60 % 60);
  put(out, 17, 2, whole % 60);
  put(out, 20, 6, static_cast<std::uint32_t>(in_day % 1'000'000));
  return out;
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

}  // namespace vortex::store
