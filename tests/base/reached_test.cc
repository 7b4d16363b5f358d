#include "base/reached.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

namespace vortex {
namespace {

void walk(bool rare) {
  REACHED("reached test: common");
  if (rare) REACHED("reached test: rare");
}

void never_called() { REACHED("reached test: never"); }

void two_places(bool left) {
  if (left) REACHED("reached test: shared");
  if (!left) REACHED("reached test: shared");
}

std::optional<std::uint64_t> count_of(std::string_view name) {
  std::optional<std::uint64_t> count;
  for (const ReachedMark& mark : reached_marks()) {
    if (name == mark.name) count = count.value_or(0) + mark.count;
  }
  return count;
}

TEST(Reached, AMarkCountsHowOftenItWasPassed) {
  const auto before = count_of("reached test: common");
  ASSERT_TRUE(before.has_value());
  walk(false);
  walk(true);
  EXPECT_EQ(count_of("reached test: common"), *before + 2);
  EXPECT_EQ(count_of("reached test: rare"), 1U);
}

TEST(Reached, AMarkNeverPassedIsListedToo) {
  EXPECT_EQ(count_of("reached test: never"), 0U);
  // Only now, so that the compiler keeps the function.
  never_called();
  EXPECT_EQ(count_of("reached test: never"), 1U);
}

TEST(Reached, OneNameMayStandAtTwoPlaces) {
  two_places(true);
  two_places(false);
  EXPECT_EQ(count_of("reached test: shared"), 2U);
}

TEST(Reached, AnUnknownNameIsNotListed) { EXPECT_FALSE(count_of("reached test: absent")); }

}  // namespace
}  // namespace vortex
