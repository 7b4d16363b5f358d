#include "model/cron.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vortex {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kFirstOf2026 = 1'767'225'600;  // a Thursday
constexpr std::int64_t kFar = kFirstOf2026 + 20 * 366 * kDaySeconds;

CronRule rule_of(std::string_view text) {
  const auto rule = parse_cron(text);
  EXPECT_TRUE(rule) << text << ": " << (rule ? "" : rule.error().message);
  return rule.value_or(CronRule{});
}

std::string words_of_cron(std::string_view text) { return in_words(rule_of(text)); }

CronFault fault_of(std::string_view text) {
  const auto rule = parse_cron(text);
  EXPECT_FALSE(rule) << text;
  return rule ? CronFault{} : rule.error();
}

TEST(Cron, SaysInWordsWhenItComes) {
  EXPECT_EQ(words_of_cron("30 2 * * MON"), "at 02:30 every Monday");
  EXPECT_EQ(words_of_cron("0 9,17 * * mon-fri"), "at 09:00 and 17:00 on Monday to Friday");
  EXPECT_EQ(words_of_cron("@daily"), "at 00:00 every day");
  EXPECT_EQ(words_of_cron("@hourly"), "every hour");
  EXPECT_EQ(words_of_cron("* * * * *"), "every minute");
  EXPECT_EQ(words_of_cron("*/15 * * * *"), "every 15 minutes");
  EXPECT_EQ(words_of_cron("*/15 9-17 * * *"), "every 15 minutes of hours 9 to 17");
  EXPECT_EQ(words_of_cron("0 */6 * * *"), "every 6 hours");
  EXPECT_EQ(words_of_cron("5 * * * *"), "at minute 5 of every hour");
  EXPECT_EQ(words_of_cron("0 0 1 1 *"), "at 00:00 on day 1 of the month in January");
  EXPECT_EQ(words_of_cron("0 12 1,15 * FRI"),
            "at 12:00 on days 1 and 15 of the month, or every Friday");
  EXPECT_EQ(words_of_cron("*/7 3 * JUN-AUG *"),
            "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of hour 3 in June to August");
}

TEST(Cron, NamesNumbersAndNicknamesMeanTheSame) {
  EXPECT_EQ(rule_of("0 0 * JAN,mar SUN"), rule_of("0 0 * 1,3 7"));
  EXPECT_EQ(rule_of("0 0 * January Sunday"), rule_of("0 0 * 1 0"));
  EXPECT_EQ(rule_of("@Weekly"), rule_of("0 0 * * 0"));
  EXPECT_EQ(rule_of("  0\t0  *  *  5-7 "), rule_of("0 0 * * FRI,SAT,SUN"));
  EXPECT_EQ(rule_of("5/20 * * * *"), rule_of("5,25,45 * * * *"));
}

TEST(Cron, TellsIntervalsFromTimesOfTheDay) {
  for (const char* text :
       {"*/15 * * * *", "0 * * * *", "0 */2 * * *", "* 2 * * *", "0-59/5 3 * * *"}) {
    EXPECT_TRUE(rule_of(text).interval) << text;
  }
  for (const char* text : {"30 2 * * *", "0,30 1-3 * * *", "10-50/20 4 * * *"}) {
    EXPECT_FALSE(rule_of(text).interval) << text;
  }
}

TEST(Cron, RefusesWithTheFieldAndTheFix) {
  struct Case {
    const char* text;
    const char* message;
    const char* help;
  };
  const Case cases[] = {
      {"60 * * * *", "the minute '60' has the value 60", "0 to 59"},
      {"* 24 * * *", "the hour '24' has the value 24", "0 to 23"},
      {"* * 0 * *", "the day of the month '0' has the value 0", "1 to 31"},
      {"* * * 13 *", "the month '13' has the value 13", "1 to 12"},
      {"* * * * 8", "the day of the week '8' has the value 8", "0 to 7"},
      {"* * * * MOM", "the day of the week 'MOM' cannot be read", "did you mean"},
      {"* * * febuary *", "the month 'febuary' cannot be read", "did you mean 'February'?"},
      {"*/0 * * * *", "has the step 0", "1 or more"},
      {"*/x * * * *", "has a step that is not a number", "*/15"},
      {"*/61 * * * *", "has the step 61", "at most 59"},
      {"30-10 * * * *", "ends before it begins", "write 30-59,0-10"},
      {"* * * * FRI-SUN", "ends before it begins", "write 5-7"},
      {"1,,2 * * * *", "the minute '1,,2' cannot be read", "single commas"},
      {"x * * * *", "the minute 'x' cannot be read", "a number from 0 to 59"},
      {"0 0 L * *", "the day of the month 'L' cannot be read", "not supported"},
      {"0 0 ? * *", "the day of the month '?' cannot be read", "write *"},
      {"* * * *", "has 4 fields", ""},
      {"", "has 0 fields", ""},
      {"hourly", "has 1 field;", ""},
      {"0 30 2 * * MON", "has 6 fields",
       "without the seconds in front it is \"30 2 * * MON\": at 02:30 every Monday"},
      {"0 0 12 * * ? 2026", "has 7 fields", "seconds and years are not supported"},
      {"0 0 30 2 *", "'0 0 30 2 *' never comes", "February has no day 30"},
      {"0 0 31 4,6 *", "never comes", "June has no day 31"},
      {"@dayly", "'@dayly' is not known", "did you mean '@daily'?"},
      {"@reboot", "'@reboot' is not known", "vortex run"},
      {"@every 5m", "'@every 5m' is not known", "every: 15m"},
  };
  for (const Case& c : cases) {
    const CronFault fault = fault_of(c.text);
    EXPECT_THAT(fault.message, HasSubstr(c.message)) << c.text;
    EXPECT_THAT(fault.help, HasSubstr(c.help)) << c.text;
  }
  EXPECT_THAT(fault_of(std::string(100'000, '*')).message, HasSubstr("too long"));
}

TEST(Cron, FindsTheRareAndEndsItsSearch) {
  const CronRule leap = rule_of("0 0 29 2 *");
  const auto day_of = [](std::int64_t at) { return (at - kFirstOf2026) / kDaySeconds; };
  const auto first = next_match(leap, kFirstOf2026, kFar);
  ASSERT_TRUE(first);
  EXPECT_EQ(day_of(*first), 365 + 365 + 31 + 28);  // 2028-02-29
  EXPECT_FALSE(next_match(leap, kFirstOf2026, kFirstOf2026 + 300 * kDaySeconds));
  // Either day is enough.
  const CronRule either = rule_of("0 0 31 2 MON");
  const auto monday = next_match(either, kFirstOf2026 + 31 * kDaySeconds, kFar);
  ASSERT_TRUE(monday);
  EXPECT_EQ(day_of(*monday), 32);  // 2026-02-02
}

TEST(Cron, AMatchIsAfterAndNotAt) {
  const CronRule daily = rule_of("@daily");
  EXPECT_EQ(next_match(daily, kFirstOf2026 - 1, kFar), kFirstOf2026);
  EXPECT_EQ(next_match(daily, kFirstOf2026, kFar), kFirstOf2026 + kDaySeconds);
  EXPECT_EQ(next_match(daily, -1, kFar), 0);
  EXPECT_EQ(next_match(daily, -2 * kDaySeconds - 1, kFar), -2 * kDaySeconds);
}

}  // namespace
}  // namespace vortex
