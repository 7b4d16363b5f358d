#pragma once
// A cron expression: five fields, read strictly, and the wall-clock times that match it.
//
// Fields: minute, hour, day of the month, month, day of the week; each with lists, ranges, steps,
// and names of months and weekdays. If both days are restricted, either one is enough, as in every
// cron. Times here are those on a clock on the wall, in seconds since 1970 as that clock counts
// them; time zones are the matter of model/schedule.h. Pure functions, bounded in time.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace vortex {

struct CronRule {
  std::uint64_t minutes = 0;   // bit 0 to 59
  std::uint32_t hours = 0;     // bit 0 to 23
  std::uint32_t days = 0;      // bit 1 to 31
  std::uint32_t months = 0;    // bit 1 to 12
  std::uint32_t weekdays = 0;  // bit 0 to 6, Sunday first
  bool any_day = false;        // no restriction
  bool any_weekday = false;
  // It repeats through the hour or the day (`*`, `*/15`): an interval, not a list of times.
  bool interval = false;
  friend bool operator==(const CronRule&, const CronRule&) = default;
};

struct CronFault {
  std::string message;
  std::string help;
};

// Five fields or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually. What
// can never match, such as 30 February, is refused.
std::expected<CronRule, CronFault> parse_cron(std::string_view text);

// The first match after `after_s` and before `before_s`.
std::optional<std::int64_t> next_match(const CronRule& rule, std::int64_t after_s,
                                       std::int64_t before_s);

// "at 02:30 every Monday"
std::string in_words(const CronRule& rule);

// Rounds down: times may lie before 1970.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
inline constexpr std::int64_t kDaySeconds = 86'400;

}  // namespace vortex
