#include "model/schedule.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"

namespace vortex {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
// The longest way from one match of a rule to the next: 29 February across a year like 2100.
constexpr std::int64_t kFarthest = 9 * 366 * kDaySeconds;

std::size_t span_of(const Zone& zone, std::int64_t at_s) {
  const auto after = std::ranges::upper_bound(zone.spans, at_s, {}, &ZoneSpan::begins_s);
  return static_cast<std::size_t>(after - zone.spans.begin()) - 1;
}

// ---- cron ----

// What a span of one offset is searched for, all in seconds of UTC.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t offset = 0;
  std::int64_t before = 0;  // the offset until `begin`
};

// Times that the clock jumped over when the stretch began.
std::optional<std::int64_t> from_the_gap(const CronRule& rule, const Stretch& in,
                                         std::int64_t after) {
  if (in.offset <= in.before) return std::nullopt;
  const std::int64_t gap_begin = in.begin + in.before;
  const std::int64_t gap_end = in.begin + in.offset;
  if (rule.interval) {
    // As if the clock had gone on: that keeps the distance to the one before.
    const auto local = next_match(rule, std::max(after + in.before, gap_begin - 1), gap_end);
    return local ? std::optional(*local - in.before) : std::nullopt;
  }
  if (after >= in.begin || !next_match(rule, gap_begin - 1, gap_end)) return std::nullopt;
  return in.begin;
}

std::optional<std::int64_t> in_stretch(const CronRule& rule, const Stretch& in,
                                       std::int64_t after) {
  std::int64_t local_after = std::max(after, in.begin - 1) + in.offset;
  // What the clock shows a second time has had its turn.
  if (!rule.interval && in.before > in.offset) {
    local_after = std::max(local_after, in.begin + in.before - 1);
  }
  auto found = next_match(rule, local_after, in.end + in.offset);
  if (found) *found -= in.offset;
  const auto skipped = from_the_gap(rule, in, after);
  if (skipped && (!found || *skipped < *found)) found = skipped;
  return found && *found < in.end ? found : std::nullopt;
}

std::optional<std::int64_t> next_of_cron(const CronRule& rule, const Zone& zone,
                                         std::int64_t after) {
  const std::int64_t horizon = after + kFarthest;
  for (std::size_t i = span_of(zone, after); i < zone.spans.size(); ++i) {
    Stretch stretch;
    stretch.offset = zone.spans[i].offset_s;
    stretch.before = i > 0 ? zone.spans[i - 1].offset_s : stretch.offset;
    stretch.begin = i > 0 ? zone.spans[i].begins_s : after - kDaySeconds;
    if (stretch.begin >= horizon) return std::nullopt;
    stretch.end = i + 1 < zone.spans.size() ? zone.spans[i + 1].begins_s : horizon;
    if (const auto found = in_stretch(rule, stretch, after)) return found;
  }
  return std::nullopt;
}

// ---- written times ----

class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<int> digits(std::size_t count) {
    const std::string_view part = rest_.substr(0, count);
    if (part.size() < count || !all_digits(part)) return std::nullopt;
    int value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    rest_.remove_prefix(count);
    return value;
  }
  // Seconds since 1970 of that day.
  std::optional<std::int64_t> date() {
    using namespace std::chrono;
    const auto y = digits(4);
    if (!y || !take('-')) return std::nullopt;
    const auto m = digits(2);
    if (!m || !take('-')) return std::nullopt;
    const auto d = digits(2);
    if (!d) return std::nullopt;
    const year_month_day ymd{year{*y}, month{static_cast<unsigned>(*m)},
                             day{static_cast<unsigned>(*d)}};
    if (!ymd.ok()) return std::nullopt;
    return std::int64_t{sys_days{ymd}.time_since_epoch().count()} * kDaySeconds;
  }
  // hh:mm[:ss]
  std::optional<std::int64_t> clock() {
    const auto hour = digits(2);
    if (!hour || *hour > 23 || !take(':')) return std::nullopt;
    const auto minute = digits(2);
    if (!minute || *minute > 59) return std::nullopt;
    std::int64_t sum = *hour * std::int64_t{3'600} + *minute * std::int64_t{60};
    if (take(':')) {
      const auto second = digits(2);
      if (!second || *second > 59) return std::nullopt;
      sum += *second;
    }
    return sum;
  }

 private:
  std::string_view rest_;
};

// ---- words ----

std::string interval_words(Duration every) {
  struct Unit {
    Duration size;
    std::string_view name;
  };
  static constexpr std::array<Unit, 4> kUnits{
      {{hours(24), "day"}, {hours(1), "hour"}, {minutes(1), "minute"}, {seconds(1), "second"}}};
  for (const Unit& unit : kUnits) {
    if (every.us % unit.size.us != 0) continue;
    const std::int64_t count = every.us / unit.size.us;
    return count == 1 ? fmt::format("every {}", unit.name)
                      : fmt::format("every {} {}s", count, unit.name);
  }
  return fmt::format("every {} milliseconds", every.us / 1'000);
}

}  // namespace

std::optional<WrittenTime> parse_written_time(std::string_view text, DayEnd of_date) {
  TimeReader in(text);
  WrittenTime time{.text = std::string(text)};
  const auto day = in.date();
  if (!day) return std::nullopt;
  time.seconds = *day;
  if (in.done()) {
    if (of_date == DayEnd::kLast) time.seconds += kDaySeconds - 1;
    return time;
  }
  if (!in.take('T') && !in.take(' ')) return std::nullopt;
  const auto clock = in.clock();
  if (!clock) return std::nullopt;
  time.seconds += *clock;
  if (in.done()) return time;
  time.local = false;
  if (in.take('Z')) return in.done() ? std::optional(time) : std::nullopt;
  const bool west = in.take('-');
  if (!west && !in.take('+')) return std::nullopt;
  const auto offset = in.clock();
  if (!offset || !in.done()) return std::nullopt;
  time.seconds += west ? *offset : -*offset;
  return time;
}

Instant instant_of(const WrittenTime& time, const Zone& zone) {
  if (!time.local) return {time.seconds * kSecond};
  // No offset is a day, so the span lies near the one of that time in UTC.
  std::size_t i = span_of(zone, time.seconds - kDaySeconds);
  for (; i < zone.spans.size(); ++i) {
    const std::int64_t at = time.seconds - zone.spans[i].offset_s;
    if (i > 0 && at < zone.spans[i].begins_s) return {zone.spans[i].begins_s * kSecond};
    if (i + 1 == zone.spans.size() || at < zone.spans[i + 1].begins_s) return {at * kSecond};
  }
  return {time.seconds * kSecond};
}

std::int32_t offset_at(const Zone& zone, Instant at) {
  return zone.spans[span_of(zone, floor_div(at.us, kSecond))].offset_s;
}

std::optional<Instant> next_slot(const ScheduleSpec& spec, const Zone& zone, Instant after) {
  const Instant from = spec.from ? instant_of(*spec.from, zone) : Instant{};
  if (spec.from) after = std::max(after, from - micros(1));
  std::optional<Instant> slot;
  if (spec.cron.empty()) {
    slot = from + spec.every * (floor_div((after - from).us, spec.every.us) + 1);
  } else if (const auto at = next_of_cron(spec.rule, zone, floor_div(after.us, kSecond))) {
    slot = Instant{*at * kSecond};
  }
  if (slot && spec.until && *slot > instant_of(*spec.until, zone)) slot.reset();
  return slot;
}

std::vector<Instant> newest_slots(const ScheduleSpec& spec, const Zone& zone, SlotRange range,
                                  std::uint32_t most) {
  std::deque<Instant> found;
  Duration back = spec.cron.empty() ? spec.every * (std::int64_t{most} + 1) : hours(1);
  for (bool all = most == 0; !all; back = back * 2) {
    const Instant begin = std::max(range.after, range.until - back);
    found.clear();
    for (auto slot = next_slot(spec, zone, begin); slot && *slot <= range.until;
         slot = next_slot(spec, zone, *slot)) {
      found.push_back(*slot);
      if (found.size() > most) found.pop_front();
    }
    all = found.size() == most || begin == range.after;
  }
  return {found.begin(), found.end()};
}

std::uint64_t count_slots(const ScheduleSpec& spec, const Zone& zone, SlotRange range,
                          std::uint64_t most) {
  std::uint64_t count = 0;
  if (!spec.cron.empty()) {
    for (auto slot = next_slot(spec, zone, range.after);
         slot && *slot <= range.until && count < most; slot = next_slot(spec, zone, *slot)) {
      ++count;
    }
    return count;
  }
  const Instant from = spec.from ? instant_of(*spec.from, zone) : Instant{};
  if (spec.from) range.after = std::max(range.after, from - micros(1));
  if (spec.until) range.until = std::min(range.until, instant_of(*spec.until, zone));
  if (range.until <= range.after) return 0;
  return static_cast<std::uint64_t>(floor_div((range.until - from).us, spec.every.us) -
                                    floor_div((range.after - from).us, spec.every.us));
}

Duration jitter_of(const ScheduleSpec& spec, std::string_view dag, Instant slot) {
  if (spec.jitter <= Duration{}) return {};
  Hasher hasher;
  hasher.add(dag);
  hasher.add(static_cast<std::uint64_t>(slot.us));
  const auto most = static_cast<std::uint64_t>(spec.jitter.us);
  return {static_cast<std::int64_t>(hasher.value() % most)};
}

bool same_slots(const ScheduleSpec& a, const ScheduleSpec& b) {
  const auto same_time = [](const auto& x, const auto& y) {
    return x.has_value() == y.has_value() &&
           (!x || (x->seconds == y->seconds && x->local == y->local));
  };
  return a.cron == b.cron && a.every == b.every && a.timezone == b.timezone &&
         same_time(a.from, b.from) && same_time(a.until, b.until);
}

std::string slot_text(Instant slot) {
  const TimeText text = time_text(slot);
  std::string out(text.data(), 19);
  out[10] = 'T';
  return out + "Z";
}

std::string slot_key(std::string_view dag, Instant slot) {
  return fmt::format("schedule:{}:{}", dag, slot_text(slot));
}

std::string in_words(const ScheduleSpec& spec) {
  std::string out = spec.cron.empty() ? interval_words(spec.every) : in_words(spec.rule);
  if (!spec.cron.empty()) out += ", " + spec.timezone;
  if (spec.from) out += ", from " + spec.from->text;
  if (spec.until) out += ", until " + spec.until->text;
  return out;
}

}  // namespace vortex
