#include "base/time.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace vortex {
namespace {

TEST(Time, UnitsAgree) {
  EXPECT_EQ(millis(1), micros(1'000));
  EXPECT_EQ(seconds(1), millis(1'000));
  EXPECT_EQ(minutes(1), seconds(60));
  EXPECT_EQ(hours(1), minutes(60));
}

RC_GTEST_PROP(Time, AddingAndTakingAwayUndoEachOther, (std::int32_t at, std::int32_t by)) {
  const Instant t{at};
  const Duration d = millis(by);
  RC_ASSERT((t + d) - d == t);
  RC_ASSERT((t + d) - t == d);
  RC_ASSERT((t - d) + d == t);
}

RC_GTEST_PROP(Time, OrderIsThatOfTheNumbers, (std::int64_t a, std::int64_t b)) {
  RC_ASSERT((Instant{a} < Instant{b}) == (a < b));
  RC_ASSERT((Duration{a} < Duration{b}) == (a < b));
  RC_ASSERT((Instant{a} == Instant{b}) == (a == b));
}

TEST(Time, DurationsScaleAndAddUp) {
  EXPECT_EQ(seconds(2) * 3, seconds(6));
  EXPECT_EQ(seconds(6) / 4, millis(1'500));
  Duration sum = seconds(1);
  sum += millis(500);
  EXPECT_EQ(sum, millis(1'500));
  EXPECT_LT(seconds(1) - seconds(2), Duration{});
}

TEST(Time, ForeverFromAnyRealTimeIsBeforeNever) {
  // Ten thousand years of term clock.
  const Instant late = Instant{} + hours(24 * 365) * 10'000;
  EXPECT_LT(late + kForever, kNever);
  EXPECT_GT(late + kForever, late);
}

TEST(Time, NeverIsFarEnoughFromTheEndToWaitBeyondIt) { EXPECT_GT(kNever + kForever, kNever); }

}  // namespace
}  // namespace vortex
