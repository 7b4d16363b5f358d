#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/dag.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::kMax;
using testing::kMin;
using testing::list;
using testing::range;

TEST(MapItems, AListHasItsItems) {
  const MapSpec map = list({"a.jpg", "", "c d"});
  EXPECT_EQ(count_items(map), 3U);
  EXPECT_EQ(item_text(map, 0), "a.jpg");
  EXPECT_EQ(item_text(map, 1), "");
  EXPECT_EQ(item_text(map, 2), "c d");
}

TEST(MapItems, ARangeIncludesItsLast) {
  EXPECT_EQ(count_items(range(1, 10)), 10U);
  EXPECT_EQ(item_text(range(1, 10), 9), "10");
  EXPECT_EQ(count_items(range(5, 5)), 1U);
}

TEST(MapItems, ARangeStopsBeforePassingItsLast) {
  EXPECT_EQ(count_items(range(0, 10, 4)), 3U);
  EXPECT_EQ(item_text(range(0, 10, 4), 2), "8");
}

TEST(MapItems, ARangeMayRunDown) {
  EXPECT_EQ(count_items(range(3, -3, -2)), 4U);
  EXPECT_EQ(item_text(range(3, -3, -2), 3), "-3");
}

TEST(MapItems, ARangeThatLeadsNowhereIsEmpty) {
  EXPECT_EQ(count_items(range(0, 10, 0)), 0U);
  EXPECT_EQ(count_items(range(1, 0)), 0U);
  EXPECT_EQ(count_items(range(0, 1, -1)), 0U);
}

TEST(MapItems, TheWidestRangesAreCountedWithoutOverflow) {
  EXPECT_EQ(count_items(range(kMin, kMax)), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(count_items(range(kMax, kMin, -1)), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(count_items(range(kMin, kMax, kMax)), 3U);
  EXPECT_EQ(item_text(range(kMin, kMax, kMax), 2), "9223372036854775806");
  EXPECT_EQ(count_items(range(kMax, kMin, kMin)), 2U);
  EXPECT_EQ(item_text(range(kMax, kMin, kMin), 1), "-1");
  EXPECT_EQ(count_items(range(kMin, kMin, kMin)), 1U);
  EXPECT_EQ(item_text(range(kMin, kMin, kMin), 0), "-9223372036854775808");
}

RC_GTEST_PROP(MapItems, ARangeHasTheItemsOfALoop,
              (std::int8_t first, std::int8_t last, std::int8_t step)) {
  RC_PRE(step != 0);
  std::uint64_t position = 0;
  for (int item = first; step > 0 ? item <= last : item >= last; item += step) {
    RC_ASSERT(item_text(range(first, last, step), position) == std::to_string(item));
    ++position;
  }
  RC_ASSERT(count_items(range(first, last, step)) == position);
}

RC_GTEST_PROP(MapItems, TheLastItemOfAnyRangeIsWithinOneStepOfItsEnd,
              (std::int64_t first, std::int64_t last, std::int64_t step)) {
  const MapSpec map = range(first, last, step);
  const std::uint64_t count = count_items(map);
  if (count == 0) return;
  const std::int64_t end = std::stoll(item_text(map, count - 1));
  RC_ASSERT((step > 0 ? end <= last && end >= first : end >= last && end <= first));
  const auto left = static_cast<std::uint64_t>(step > 0 ? last : end) -
                    static_cast<std::uint64_t>(step > 0 ? end : last);
  RC_ASSERT(left <
            (step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step)));
}

}  // namespace
}  // namespace vortex
