#include "codec/units.h"

#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace vortex::codec {
namespace {

TEST(Units, DurationsAreReadExactly) {
  const std::pair<std::string_view, Duration> kGood[] = {
      {"0s", Duration{}},       {"90s", seconds(90)},
      {"1.5h", minutes(90)},    {"250ms", millis(250)},
      {"7us", micros(7)},       {"2d", hours(48)},
      {"0.000001s", micros(1)}, {"1.50000000000000000000000000s", millis(1'500)},
      {"007m", minutes(7)}};
  for (const auto& [text, duration] : kGood) EXPECT_EQ(parse_duration(text), duration) << text;
}

TEST(Units, WhatIsNoDurationIsRefusedWithItsReason) {
  const std::pair<std::string_view, std::string_view> kBad[] = {
      {"", "is not a duration"},       {"90", "is not a duration"},
      {"s", "is not a duration"},      {"-1s", "is not a duration"},
      {"1 s", "is not a duration"},    {"1.s", "is not a duration"},
      {".5s", "is not a duration"},    {"1.2.3s", "is not a duration"},
      {"1e3s", "is not a duration"},   {"1S", "is not a duration"},
      {"1week", "is not a duration"},  {"0.0000001s", "is finer than 1us"},
      {"0.5us", "is finer than 1us"},  {"0.0000000000000000001s", "is finer than 1us"},
      {"99999999999d", "is too large"}};
  for (const auto& [text, reason] : kBad) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration.has_value()) << text;
    EXPECT_EQ(duration.error(), reason) << text;
  }
  const std::string many(400, '9');
  EXPECT_EQ(parse_duration(many + "s").error(), "is too large");
}

TEST(Units, DurationsAreWrittenInTheLargestUnitThatIsExact) {
  EXPECT_EQ(duration_text(Duration{}), "0s");
  EXPECT_EQ(duration_text(seconds(90)), "90s");
  EXPECT_EQ(duration_text(seconds(60)), "1m");
  EXPECT_EQ(duration_text(minutes(90)), "90m");
  EXPECT_EQ(duration_text(hours(48)), "2d");
  EXPECT_EQ(duration_text(micros(1'500)), "1500us");
}

TEST(Units, SizesKnowThousandsAnd1024s) {
  EXPECT_EQ(parse_size("512MiB"), 536'870'912);
  EXPECT_EQ(parse_size("1.5KiB"), 1'536);
  EXPECT_EQ(parse_size("2GB"), 2'000'000'000);
  EXPECT_EQ(parse_size("2TiB"), 2'199'023'255'552);
  EXPECT_EQ(parse_size("1TB"), 1'000'000'000'000);
  EXPECT_EQ(size_text(2'199'023'255'552), "2048GiB") << "as earlier versions read it";
  EXPECT_EQ(parse_size("0B"), 0);
  EXPECT_EQ(parse_size("0.3B").error(), "is not a whole number of bytes");
  EXPECT_EQ(parse_size("512M").error(), "is not a size");
  EXPECT_EQ(parse_size("9999999999GiB").error(), "is too large");
  EXPECT_EQ(size_text(536'870'912), "512MiB");
  EXPECT_EQ(size_text(2'000'000'000), "2GB");
  EXPECT_EQ(size_text(1'024'000), "1000KiB");
  EXPECT_EQ(size_text(0), "0B");
}

TEST(Units, ThousandthsAreDecimalNumbers) {
  EXPECT_EQ(parse_thousandths("1.5"), 1'500);
  EXPECT_EQ(parse_thousandths("0.001"), 1);
  EXPECT_EQ(parse_thousandths("2"), 2'000);
  EXPECT_EQ(parse_thousandths("0.0005").error(), "is finer than a thousandth");
  EXPECT_EQ(parse_thousandths("2E-1"), 200) << "as some programs write 0.2";
  EXPECT_EQ(parse_thousandths("1e3"), 1'000'000);
  EXPECT_EQ(parse_thousandths("1.25e+1"), 12'500);
  EXPECT_EQ(parse_thousandths("5e-4").error(), "is finer than a thousandth");
  EXPECT_FALSE(parse_thousandths("1e").has_value());
  EXPECT_FALSE(parse_thousandths("1e99").has_value());
  EXPECT_FALSE(parse_thousandths("e3").has_value());
  EXPECT_FALSE(parse_thousandths("-1").has_value());
  EXPECT_EQ(thousandths_text(1'500), "1.5");
  EXPECT_EQ(thousandths_text(1), "0.001");
  EXPECT_EQ(thousandths_text(1'000), "1");
  EXPECT_EQ(thousandths_text(0), "0");
}

RC_GTEST_PROP(Units, WhatIsWrittenIsReadBack, (std::uint64_t drawn, std::uint8_t shift)) {
  const auto amount = static_cast<std::int64_t>(drawn >> (2 + shift % 60));
  if (amount <= kForever.us) {
    RC_ASSERT((parse_duration(duration_text({amount})) == Duration{amount}));
  }
  RC_ASSERT((parse_size(size_text(amount)) == amount));
  RC_ASSERT((parse_thousandths(thousandths_text(amount)) == amount));
}

TEST(Units, MillisecondsAreRoundedUp) {
  EXPECT_EQ(whole_millis(Duration{}), 0U);
  EXPECT_EQ(whole_millis(micros(1)), 1U);
  EXPECT_EQ(whole_millis(micros(1'000)), 1U);
  EXPECT_EQ(whole_millis(micros(1'001)), 2U);
  EXPECT_EQ(whole_millis(Duration{-5}), 0U);
}

}  // namespace
}  // namespace vortex::codec

namespace vortex::codec {
namespace {

TEST(Rates, AreACountAndAWindow) {
  const auto rate = parse_rate("100/1m");
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->count, 100U);
  EXPECT_EQ(rate->window, minutes(1));
  EXPECT_EQ(rate_text(*rate), "100/1m");
  for (const std::string_view bad :
       {"", "100", "/1m", "100/", "0/1m", "-1/1m", "1/soon", "1.5/1s"}) {
    EXPECT_FALSE(parse_rate(bad)) << bad;
  }
}

}  // namespace
}  // namespace vortex::codec
