#include "cli/screen/human.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

namespace vortex::cli {
namespace {

constexpr std::int64_t kMilli = 1'000;
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

// Takes `digits` digits from the front; -1: there are not so many.
int take_number(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return -1;
  const char* end = text.data() + digits;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || text.front() == '-') return -1;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

// The part behind the point, as microseconds.
std::int64_t take_fraction(std::string_view& text) {
  std::int64_t micros_seen = 0;
  std::int64_t unit = 100'000;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    micros_seen += unit * (text.front() - '0');
    unit /= 10;
    text.remove_prefix(1);
  }
  return micros_seen;
}

}  // namespace

std::string human_duration(Duration duration) {
  const std::int64_t us = std::abs(duration.us);
  if (us == 0) return "0s";
  if (us < kMilli) return fmt::format("{}us", us);
  if (us < kSecond) return fmt::format("{}ms", us / kMilli);
  if (us < 10 * kSecond) {
    return fmt::format("{}.{}s", us / kSecond, us % kSecond / (kSecond / 10));
  }
  if (us < kMinute) return fmt::format("{}s", us / kSecond);
  if (us < kHour) return fmt::format("{}m{:02}s", us / kMinute, us % kMinute / kSecond);
  if (us < kDay) return fmt::format("{}h{:02}m", us / kHour, us % kHour / kMinute);
  if (us < 100 * kDay) return fmt::format("{}d{}h", us / kDay, us % kDay / kHour);
  return fmt::format("{}d", us / kDay);
}

std::string human_time(Instant at, Instant now) {
  const Duration past = now - at;
  // Clocks of two hosts are never quite equal.
  if (std::abs(past.us) < kSecond) return "now";
  const Duration whole{std::abs(past.us) / kSecond * kSecond};
  // One unit is enough for "how long ago".
  std::string text = human_duration(whole);
  if (whole.us < 10 * kSecond) text = fmt::format("{}s", whole.us / kSecond);
  if (whole.us >= kMinute) text.resize(text.find_first_not_of("0123456789") + 1);
  return past.us < 0 ? "in " + text : text + " ago";
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kUnits.size()) amount /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::optional<Instant> parse_time(std::string_view text) {
  const int year = take_number(text, 4);
  if (!take(text, '-')) return std::nullopt;
  const int month = take_number(text, 2);
  if (!take(text, '-')) return std::nullopt;
  const int day = take_number(text, 2);
  if (!take(text, 'T')) return std::nullopt;
  const int hour = take_number(text, 2);
  if (!take(text, ':')) return std::nullopt;
  const int minute = take_number(text, 2);
  if (!take(text, ':')) return std::nullopt;
  const int second = take_number(text, 2);
  const std::int64_t fraction = take(text, '.') ? take_fraction(text) : 0;
  if (text != "Z" || year < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (month < 0 || day < 0 || !date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return Instant{days * kDay + hour * kHour + minute * kMinute + second * kSecond + fraction};
}

std::string clock_text(Instant at) {
  const std::int64_t of_day = ((at.us % kDay) + kDay) % kDay;
  return fmt::format("{:02}:{:02}:{:02}", of_day / kHour, of_day % kHour / kMinute,
                     of_day % kMinute / kSecond);
}

}  // namespace vortex::cli
