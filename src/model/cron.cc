#include "model/cron.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "model/check.h"

namespace vortex {
namespace {

constexpr std::int64_t kMinuteSeconds = 60;
constexpr std::size_t kCronBytesMax = 1'000;

constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
constexpr std::size_t kShortName = 3;

struct FieldRule {
  std::string_view what;
  unsigned low = 0;
  unsigned high = 0;     // what may be written
  unsigned highest = 0;  // what `*` reaches: 7 is Sunday once more
  std::span<const std::string_view> names = {};
  unsigned first_name = 0;
};
constexpr std::array<FieldRule, 5> kFields{{
    {"minute", 0, 59, 59},
    {"hour", 0, 23, 23},
    {"day of the month", 1, 31, 31},
    {"month", 1, 12, 12, kMonths, 1},
    {"day of the week", 0, 7, 6, kWeekdays, 0},
}};

struct Nickname {
  std::string_view name;
  std::string_view fields;
};
constexpr std::array<Nickname, 7> kNicknames{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

std::uint64_t bit(unsigned value) { return std::uint64_t{1} << value; }

std::uint64_t all_of(const FieldRule& field) {
  std::uint64_t bits = 0;
  for (unsigned value = field.low; value <= field.highest; ++value) bits |= bit(value);
  return bits;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split(text, " \t");
  std::erase(words, "");
  return words;
}

std::optional<unsigned> whole_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct ReadField {
  std::uint64_t bits = 0;
  bool repeats = false;  // a part goes through the whole field
};

class FieldReader {
 public:
  FieldReader(const FieldRule& rule, std::string_view text) : rule_(rule), text_(text) {}

  std::expected<ReadField, CronFault> read() {
    for (const std::string_view part : split(text_, ",")) {
      if (auto fault = read_part(part)) return std::unexpected(*std::move(fault));
    }
    // Sunday has two numbers.
    if (rule_.high != rule_.highest && (out_.bits & bit(rule_.high)) != 0) {
      out_.bits = (out_.bits & ~bit(rule_.high)) | bit(rule_.low);
    }
    return out_;
  }

 private:
  using Fault = std::optional<CronFault>;

  CronFault fault(std::string message, std::string help = {}) const {
    return {fmt::format("the {} {} {}", rule_.what, in_quotes(text_), message), std::move(help)};
  }

  Fault read_part(std::string_view part) {
    const std::size_t slash = part.find('/');
    const std::string_view range = part.substr(0, slash);
    unsigned step = 1;
    if (slash != part.npos) {
      const auto number = whole_number(part.substr(slash + 1));
      if (!number) return fault("has a step that is not a number", "write */15 for every 15");
      if (*number == 0) return fault("has the step 0", "a step is 1 or more");
      if (*number > rule_.high) {
        return fault(fmt::format("has the step {}, more than the whole field", *number),
                     fmt::format("a step here is at most {}", rule_.high));
      }
      step = *number;
    }
    unsigned from = rule_.low;
    unsigned to = rule_.highest;
    if (range != "*") {
      const std::size_t dash = range.find('-');
      if (auto wrong = read_value(range.substr(0, dash), from)) return wrong;
      if (dash != range.npos) {
        if (auto wrong = read_value(range.substr(dash + 1), to)) return wrong;
      } else if (slash == part.npos) {
        to = from;
      }
    }
    if (from > to) return backwards(from, to);
    if (from == rule_.low && to >= rule_.highest) out_.repeats = true;
    for (unsigned value = from; value <= to; value += step) out_.bits |= bit(value);
    return std::nullopt;
  }

  Fault backwards(unsigned from, unsigned to) const {
    const bool sunday = rule_.high != rule_.highest && to == 0;
    const std::string right = sunday
                                  ? fmt::format("{}-7", from)
                                  : fmt::format("{}-{},{}-{}", from, rule_.highest, rule_.low, to);
    return fault("is a range that ends before it begins", fmt::format("write {}", right));
  }

  Fault read_value(std::string_view text, unsigned& out) const {
    if (const auto number = whole_number(text)) {
      out = *number;
      if (out >= rule_.low && out <= rule_.high) return std::nullopt;
      return fault(fmt::format("has the value {}", out),
                   fmt::format("it must be {} to {}", rule_.low, rule_.high));
    }
    for (unsigned i = 0; i < rule_.names.size(); ++i) {
      const std::string_view name = rule_.names[i];
      if (!same_ignoring_case(text, name.substr(0, kShortName)) && !same_ignoring_case(text, name))
        continue;
      out = rule_.first_name + i;
      return std::nullopt;
    }
    return fault("cannot be read", help_for(text));
  }

  std::string help_for(std::string_view text) const {
    if (text.empty()) return "numbers are separated by single commas, ranges written as 1-5";
    if (text == "?") return "write * for any";
    if (text.find_first_of("LW#lw") != text.npos && rule_.low + rule_.names.size() > 0 &&
        rule_.names.size() != kMonths.size()) {
      return "L, W and # are not supported; use numbers, ranges, lists and steps";
    }
    if (rule_.names.empty()) {
      return fmt::format("write a number from {} to {}, *, a range, a list or a step", rule_.low,
                         rule_.high);
    }
    std::vector<std::string_view> known;
    for (const std::string_view name : rule_.names) known.push_back(name.substr(0, kShortName));
    for (const std::string_view name : rule_.names) known.push_back(name);
    if (const auto near = nearest_name(text, known); !near.empty()) {
      return fmt::format("did you mean {}?", in_quotes(near));
    }
    return fmt::format("write a number from {} to {}, or a name such as {}", rule_.low, rule_.high,
                       rule_.names.front().substr(0, kShortName));
  }

  const FieldRule& rule_;
  std::string_view text_;
  ReadField out_;
};

// A leap year, so that 29 February counts.
unsigned longest(unsigned month) {
  using namespace std::chrono;
  const year_month_day_last last{year{2024}, month_day_last{std::chrono::month{month}}};
  return static_cast<unsigned>(last.day());
}

std::optional<CronFault> never_comes(const CronRule& rule, std::string_view text) {
  if (rule.any_day || !rule.any_weekday) return std::nullopt;
  unsigned month_told = 0;
  for (unsigned month = 1; month <= 12; ++month) {
    if ((rule.months & bit(month)) == 0) continue;
    const auto first = static_cast<unsigned>(std::countr_zero(rule.days));
    if (first <= longest(month)) return std::nullopt;
    month_told = month;
  }
  return CronFault{
      fmt::format("{} never comes", in_quotes(text)),
      fmt::format("{} has no day {}", kMonths[month_told - 1], std::countr_zero(rule.days))};
}

std::expected<CronRule, CronFault> read_fields(std::span<const std::string_view> fields) {
  std::array<ReadField, kFields.size()> read;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    auto field = FieldReader(kFields[i], fields[i]).read();
    if (!field) return std::unexpected(std::move(field).error());
    read[i] = *field;
  }
  CronRule rule;
  rule.minutes = read[0].bits;
  rule.hours = static_cast<std::uint32_t>(read[1].bits);
  rule.days = static_cast<std::uint32_t>(read[2].bits);
  rule.months = static_cast<std::uint32_t>(read[3].bits);
  rule.weekdays = static_cast<std::uint32_t>(read[4].bits);
  rule.any_day = read[2].bits == all_of(kFields[2]);
  rule.any_weekday = read[4].bits == all_of(kFields[4]);
  rule.interval = read[0].repeats || read[1].repeats;
  return rule;
}

CronFault wrong_count(std::string_view text, std::span<const std::string_view> fields) {
  CronFault fault{
      fmt::format("{} has {} {}; a cron expression has 5: minute, hour, day of the "
                  "month, month, day of the week",
                  in_quotes(text), fields.size(), fields.size() == 1 ? "field" : "fields"),
      {}};
  if (fields.size() < kFields.size()) return fault;
  const auto rest = fields.last(kFields.size());
  const auto rule = read_fields(rest);
  if (fields.size() == kFields.size() + 1 && rule && !never_comes(*rule, text)) {
    fault.help = fmt::format(
        "without the seconds in front it is \"{}\": {}; for less than a minute "
        "use every: 30s",
        fmt::join(rest, " "), in_words(*rule));
  } else {
    fault.help = "seconds and years are not supported; for less than a minute use every: 30s";
  }
  return fault;
}

CronFault unknown_nickname(std::string_view text) {
  std::vector<std::string_view> known;
  for (const Nickname& nickname : kNicknames) known.push_back(nickname.name);
  std::string help;
  if (text.starts_with("@every")) {
    help = "write every: 15m instead of cron";
  } else if (text == "@reboot") {
    help = "a schedule has no reboot; start a run with `vortex run`";
  } else if (const auto near = nearest_name(text, known); !near.empty()) {
    help = fmt::format("did you mean {}?", in_quotes(near));
  } else {
    help = fmt::format("there are {}", fmt::join(known, ", "));
  }
  return {fmt::format("{} is not known", in_quotes(text)), std::move(help)};
}

// The first day from `day` on, before `end`, that matches.
std::optional<std::int64_t> next_day(const CronRule& rule, std::int64_t day, std::int64_t end) {
  using namespace std::chrono;
  while (day < end) {
    const sys_days date{days{day}};
    const year_month_day ymd{date};
    if ((rule.months & bit(static_cast<unsigned>(ymd.month()))) == 0) {
      const sys_days next{(ymd.year() / ymd.month() + months{1}) / 1};
      day = next.time_since_epoch().count();
      continue;
    }
    const bool by_day = (rule.days & bit(static_cast<unsigned>(ymd.day()))) != 0;
    const bool by_weekday = (rule.weekdays & bit(weekday{date}.c_encoding())) != 0;
    // Restricted both ways, one of them is enough.
    const bool matches =
        rule.any_day || rule.any_weekday ? by_day && by_weekday : by_day || by_weekday;
    if (matches) return day;
    ++day;
  }
  return std::nullopt;
}

// The first minute of the day from `from` on; 0 to 1439.
std::optional<std::int64_t> next_minute(const CronRule& rule, std::int64_t from) {
  for (std::int64_t hour = from / 60; hour < 24; ++hour) {
    if ((rule.hours >> hour & 1U) == 0) continue;
    const std::int64_t skipped = hour == from / 60 ? from % 60 : 0;
    const std::uint64_t left = rule.minutes >> skipped << skipped;
    if (left != 0) return hour * 60 + std::countr_zero(left);
  }
  return std::nullopt;
}

// ---- words ----

template <class Name>
std::string listed(std::uint64_t bits, Name&& name) {
  std::vector<unsigned> values;
  for (unsigned i = 0; i < 64; ++i) {
    if ((bits & bit(i)) != 0) values.push_back(i);
  }
  const bool run = values.size() > 2 && values.back() - values.front() + 1 == values.size();
  if (run) return fmt::format("{} to {}", name(values.front()), name(values.back()));
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += i + 1 == values.size() ? " and " : ", ";
    out += name(values[i]);
  }
  return out;
}

std::string plain(unsigned value) { return std::to_string(value); }

// The step with which the bits go evenly round the field; 0: they do not.
unsigned even_step(std::uint64_t bits, unsigned size) {
  const auto count = static_cast<unsigned>(std::popcount(bits));
  if (count < 2 || size % count != 0 || (bits & 1U) == 0) return 0;
  const unsigned step = size / count;
  for (unsigned value = 0; value < size; value += step) {
    if ((bits & bit(value)) == 0) return 0;
  }
  return step;
}

std::string every(unsigned step, std::string_view one) {
  return step == 1 ? fmt::format("every {}", one) : fmt::format("every {} {}s", step, one);
}

std::string of_minutes(std::uint64_t minutes) {
  return fmt::format("at {} {}", std::has_single_bit(minutes) ? "minute" : "minutes",
                     listed(minutes, plain));
}

std::string of_hours(std::uint32_t hours) {
  if (const unsigned step = even_step(hours, 24); step > 0) {
    return fmt::format("of {}", every(step, "hour"));
  }
  return fmt::format("of {} {}", std::has_single_bit(hours) ? "hour" : "hours",
                     listed(hours, plain));
}

constexpr int kTimesListed = 4;

std::string time_words(const CronRule& rule) {
  const unsigned minute_step = even_step(rule.minutes, 60);
  const unsigned hour_step = even_step(rule.hours, 24);
  if (hour_step == 1 && minute_step > 0) return every(minute_step, "minute");
  if (hour_step > 0 && rule.minutes == 1) return every(hour_step, "hour");
  if (std::has_single_bit(rule.minutes) && std::popcount(rule.hours) <= kTimesListed) {
    const int minute = std::countr_zero(rule.minutes);
    std::string out = "at ";
    int told = 0;
    const int count = std::popcount(rule.hours);
    for (int hour = 0; hour < 24; ++hour) {
      if ((rule.hours >> hour & 1U) == 0) continue;
      if (told > 0) out += told + 1 == count ? " and " : ", ";
      out += fmt::format("{:02}:{:02}", hour, minute);
      ++told;
    }
    return out;
  }
  if (minute_step > 0) return every(minute_step, "minute") + " " + of_hours(rule.hours);
  return of_minutes(rule.minutes) + " " + of_hours(rule.hours);
}

std::string day_words(const CronRule& rule) {
  const auto weekday_name = [](unsigned day) { return std::string(kWeekdays[day]); };
  const bool single = std::has_single_bit(rule.weekdays);
  const std::string weekdays = (single ? "every " : "on ") + listed(rule.weekdays, weekday_name);
  const std::string days =
      fmt::format("on {} {} of the month", std::has_single_bit(rule.days) ? "day" : "days",
                  listed(rule.days, plain));
  if (rule.any_day && rule.any_weekday) return rule.interval ? "" : "every day";
  if (rule.any_day) return weekdays;
  if (rule.any_weekday) return days;
  return days + ", or " + weekdays;
}

}  // namespace

std::expected<CronRule, CronFault> parse_cron(std::string_view text) {
  if (text.size() > kCronBytesMax) {
    return std::unexpected(
        CronFault{fmt::format("{} is too long", in_quotes(text)),
                  fmt::format("a cron expression has at most {} characters", kCronBytesMax)});
  }
  std::vector<std::string_view> fields = words_of(text);
  if (fields.size() == 1 && fields.front().starts_with('@')) {
    const auto* known = std::ranges::find_if(kNicknames, [&](const Nickname& nickname) {
      return same_ignoring_case(nickname.name, fields.front());
    });
    if (known == kNicknames.end()) return std::unexpected(unknown_nickname(fields.front()));
    fields = words_of(known->fields);
  }
  if (!fields.empty() && fields.front().starts_with("@every")) {
    return std::unexpected(unknown_nickname(text));
  }
  if (fields.size() != kFields.size()) return std::unexpected(wrong_count(text, fields));
  auto rule = read_fields(fields);
  if (!rule) return rule;
  if (auto fault = never_comes(*rule, text)) return std::unexpected(*std::move(fault));
  return rule;
}

std::optional<std::int64_t> next_match(const CronRule& rule, std::int64_t after_s,
                                       std::int64_t before_s) {
  const std::int64_t from = (floor_div(after_s, kMinuteSeconds) + 1) * kMinuteSeconds;
  const std::int64_t end = floor_div(before_s, kDaySeconds) + 1;
  std::int64_t first = floor_div(from, kDaySeconds);
  std::int64_t minute = (from - first * kDaySeconds) / kMinuteSeconds;
  while (const auto day = next_day(rule, first, end)) {
    const auto at = next_minute(rule, *day == first ? minute : 0);
    if (at) {
      const std::int64_t match = *day * kDaySeconds + *at * kMinuteSeconds;
      return match < before_s ? std::optional(match) : std::nullopt;
    }
    first = *day + 1;
    minute = 0;
  }
  return std::nullopt;
}

std::string in_words(const CronRule& rule) {
  std::string out = time_words(rule);
  if (const std::string days = day_words(rule); !days.empty()) out += " " + days;
  if (std::popcount(rule.months) < 12) {
    out += " in " +
           listed(rule.months, [](unsigned month) { return std::string(kMonths[month - 1]); });
  }
  return out;
}

}  // namespace vortex
