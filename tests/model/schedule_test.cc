#include "model/schedule.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/zone_files.h"

namespace vortex {
namespace {

ScheduleSpec of_cron(std::string_view cron) {
  ScheduleSpec spec;
  spec.cron = cron;
  spec.rule = parse_cron(cron).value();
  return spec;
}

Instant moment(std::string_view text, const Zone& zone = {}) {
  return instant_of(parse_written_time(text, DayEnd::kFirst).value(), zone);
}

const Zone& berlin() {
  static const ZonePtr zone = system_zones().find("Europe/Berlin");
  return *zone;
}

// Slots as times in UTC, after one moment and before another.
std::vector<std::string> slots(const ScheduleSpec& spec, const Zone& zone, std::string_view after,
                               std::string_view before) {
  std::vector<std::string> found;
  Instant at = moment(after);
  while (const auto slot = next_slot(spec, zone, at)) {
    if (*slot >= moment(before)) break;
    at = *slot;
    const TimeText text = time_text(at);
    found.emplace_back(text.data(), 16);
  }
  return found;
}

using Times = std::vector<std::string>;

// In 2026 the clocks of Berlin go from 02:00 to 03:00 on 29 March, at 01:00 UTC, and from 03:00
// back to 02:00 on 25 October, at 01:00 UTC.

TEST(Schedule, ASkippedTimeComesOnceRightAfterTheGap) {
  EXPECT_EQ(slots(of_cron("30 2 * * *"), berlin(), "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z"),
            (Times{"2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"}));
  // Three of them are one, and 03:00 is there already.
  EXPECT_EQ(
      slots(of_cron("0,20,40 2,3 * * *"), berlin(), "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z"),
      (Times{"2026-03-29 01:00", "2026-03-29 01:20", "2026-03-29 01:40"}));
}

TEST(Schedule, ATimeThatComesTwiceRunsOnce) {
  EXPECT_EQ(slots(of_cron("30 2 * * *"), berlin(), "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z"),
            (Times{"2026-10-24 00:30", "2026-10-25 00:30", "2026-10-26 01:30"}));
}

TEST(Schedule, IntervalsGoOnEvenly) {
  for (const char* day : {"2026-03-29", "2026-10-25"}) {
    const std::string at(day);
    for (const char* text : {"*/15 * * * *", "0 * * * *", "30 * * * *"}) {
      const auto found = slots(of_cron(text), berlin(), at + "T00:00:00Z", at + "T03:00:00Z");
      for (std::size_t i = 1; i < found.size(); ++i) {
        const Duration step = moment(found[i]) - moment(found[i - 1]);
        EXPECT_EQ(step, text[0] == '*' ? minutes(15) : hours(1)) << text << " " << found[i];
      }
      EXPECT_GE(found.size(), 2U);
    }
  }
  ScheduleSpec every;
  every.every = minutes(90);
  EXPECT_EQ(slots(every, berlin(), "2026-03-29T00:00:00Z", "2026-03-29T04:00:00Z"),
            (Times{"2026-03-29 01:30", "2026-03-29 03:00"}));
}

TEST(Schedule, ADayThatNeverWasRunsRightAfterIt) {
  const ZonePtr apia = system_zones().find("Pacific/Apia");  // had no 30 December 2011
  EXPECT_EQ(slots(of_cron("0 12 30 12 *"), *apia, "2011-12-01T00:00:00Z", "2012-02-01T00:00:00Z"),
            (Times{"2011-12-30 10:00"}));
}

TEST(Schedule, BeginsAndEndsOnTheClockOfItsZone) {
  ScheduleSpec spec = of_cron("0 0 * * *");
  spec.from = parse_written_time("2026-03-01", DayEnd::kFirst);
  spec.until = parse_written_time("2026-03-03", DayEnd::kLast);
  EXPECT_EQ(slots(spec, berlin(), "2026-01-01", "2027-01-01"),
            (Times{"2026-02-28 23:00", "2026-03-01 23:00", "2026-03-02 23:00"}));
  ScheduleSpec every;
  every.every = hours(10);
  every.from = parse_written_time("2026-03-01T05:00:00+02:00", DayEnd::kFirst);
  EXPECT_EQ(slots(every, berlin(), "2026-01-01", "2026-03-02"),
            (Times{"2026-03-01 03:00", "2026-03-01 13:00", "2026-03-01 23:00"}));
}

TEST(Schedule, GapsOfMoreThanADecadeOfRulesStayBounded) {
  const auto slot = next_slot(of_cron("0 0 29 2 *"), berlin(), moment("2096-03-01"));
  ASSERT_TRUE(slot);
  EXPECT_EQ(*slot, moment("2104-02-28T23:00:00Z"));
}

TEST(Schedule, ReadsTimesStrictly) {
  for (const char* text :
       {"", "2026", "2026-13-01", "2026-02-30", "2026-02-01 25:00", "2026-02-01x",
        "2026-02-01T10:00+1", "2026-02-01T10:00Zz", "02/01/2026"}) {
    EXPECT_FALSE(parse_written_time(text, DayEnd::kFirst)) << text;
  }
  EXPECT_EQ(moment("2026-02-01 10:00"), moment("2026-02-01T12:30:00+02:30"));
  EXPECT_EQ(moment("2026-03-29 02:30", berlin()), moment("2026-03-29T01:00:00Z"));
  EXPECT_EQ(moment("2026-10-25 02:30", berlin()), moment("2026-10-25T00:30:00Z"));
}

TEST(Schedule, TheNewestSlotsAreFoundWithoutWalkingThroughAllOfThem) {
  ScheduleSpec every;
  every.every = seconds(1);
  const Instant now = moment("2026-03-01");
  const SlotRange long_ago{moment("1990-01-01"), now};
  EXPECT_EQ(newest_slots(every, {}, long_ago, 2), (std::vector{now - seconds(1), now}));
  EXPECT_EQ(count_slots(every, {}, long_ago, 10), 1'141'171'200u);
  EXPECT_TRUE(newest_slots(every, {}, long_ago, 0).empty());
  EXPECT_EQ(newest_slots(every, {}, {now - seconds(1), now}, 5), std::vector{now});
  const ScheduleSpec leap = of_cron("0 0 29 2 *");
  EXPECT_EQ(newest_slots(leap, {}, long_ago, 2),
            (std::vector{moment("2020-02-29"), moment("2024-02-29")}));
  EXPECT_EQ(newest_slots(leap, {}, {moment("2024-03-01"), now}, 2), std::vector<Instant>{});
  EXPECT_EQ(count_slots(leap, {}, long_ago, 100), 9u);
  EXPECT_EQ(count_slots(leap, {}, long_ago, 4), 4u);
}

TEST(Schedule, CountsOnlySlotsBetweenItsEnds) {
  ScheduleSpec every;
  every.every = minutes(10);
  every.from = parse_written_time("2026-03-01T00:05:00Z", DayEnd::kFirst);
  every.until = parse_written_time("2026-03-01T00:25:00Z", DayEnd::kFirst);
  EXPECT_EQ(count_slots(every, {}, {moment("2026-02-01"), moment("2026-04-01")}, 1), 3u);
  EXPECT_EQ(count_slots(every, {}, {moment("2026-03-01T00:05:00Z"), moment("2026-04-01")}, 1), 2u);
  EXPECT_EQ(count_slots(every, {}, {moment("2026-03-02"), moment("2026-04-01")}, 1), 0u);
}

TEST(Schedule, JitterIsTheSameForTheSameSlotAndSpreadOverSlotsAndDags) {
  ScheduleSpec spec;
  spec.every = minutes(10);
  const Instant slot = moment("2026-03-01");
  EXPECT_EQ(jitter_of(spec, "etl", slot), Duration{});
  spec.jitter = minutes(9);
  const Duration first = jitter_of(spec, "etl", slot);
  EXPECT_EQ(first, jitter_of(spec, "etl", slot));
  EXPECT_NE(first, jitter_of(spec, "other", slot));
  for (int i = 0; i < 100; ++i) {
    const Duration some = jitter_of(spec, "etl", slot + minutes(i * 10));
    EXPECT_GE(some, Duration{});
    EXPECT_LT(some, spec.jitter);
  }
}

TEST(Schedule, OnlyWhatMovesSlotsMakesAnotherSchedule) {
  ScheduleSpec a = of_cron("30 2 * * *");
  ScheduleSpec b = a;
  b.overlap = Overlap::kAllow;
  b.jitter = seconds(5);
  b.catchup.limit = 7;
  EXPECT_TRUE(same_slots(a, b));
  b.timezone = "Europe/Berlin";
  EXPECT_FALSE(same_slots(a, b));
  a.until = parse_written_time("2026-12-31", DayEnd::kLast);
  b = a;
  EXPECT_TRUE(same_slots(a, b));
  b.until = parse_written_time("2026-12-30", DayEnd::kLast);
  EXPECT_FALSE(same_slots(a, b));
  EXPECT_EQ(slot_key("etl", moment("2026-03-27T01:30:00Z")), "schedule:etl:2026-03-27T01:30:00Z");
}

TEST(Schedule, IsSaidInWords) {
  ScheduleSpec spec = of_cron("30 2 * * MON");
  spec.timezone = "Europe/Berlin";
  EXPECT_EQ(in_words(spec), "at 02:30 every Monday, Europe/Berlin");
  spec.until = parse_written_time("2026-12-31", DayEnd::kLast);
  EXPECT_EQ(in_words(spec), "at 02:30 every Monday, Europe/Berlin, until 2026-12-31");
  ScheduleSpec every;
  every.every = minutes(15);
  EXPECT_EQ(in_words(every), "every 15 minutes");
  every.every = hours(24);
  EXPECT_EQ(in_words(every), "every day");
}

}  // namespace
}  // namespace vortex
