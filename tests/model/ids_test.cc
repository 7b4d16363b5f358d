#include "model/ids.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace vortex {
namespace {

TEST(Ids, AreShownAsRunLevelAndIndex) {
  EXPECT_EQ(to_text(RunId{42}), "r42");
  EXPECT_EQ(to_text(TaskId{.run = {42}, .index = 7, .level = 1}), "r42-L1-7");
}

RC_GTEST_PROP(Ids, WhatIsShownIsReadBack,
              (std::uint64_t run, std::uint32_t index, std::uint32_t level)) {
  const TaskId id{.run = {run}, .index = index, .level = level};
  const std::string text = to_text(id);
  const auto parsed = parse_task_id(text);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == id);
  RC_ASSERT(parsed->level == level);
  RC_ASSERT(level_from_id(text) == level);
}

RC_GTEST_PROP(Ids, WhateverIsReadIsShownTheSame, (const std::string& text)) {
  const auto parsed = parse_task_id(text);
  if (parsed) RC_ASSERT(to_text(*parsed) == text);
}

TEST(Ids, TheLargestNumbersAreReadAndLargerOnesRefused) {
  const auto largest = parse_task_id("r18446744073709551615-L4294967295-4294967295");
  ASSERT_TRUE(largest.has_value());
  EXPECT_EQ(largest->run.value, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(largest->index, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(largest->level, std::numeric_limits<std::uint32_t>::max());
  EXPECT_FALSE(parse_task_id("r18446744073709551616-L1-1"));
  EXPECT_FALSE(parse_task_id("r1-L4294967296-1"));
  EXPECT_FALSE(parse_task_id("r1-L1-4294967296"));
}

TEST(Ids, ARunIsReadBackFromWhatIsShown) {
  EXPECT_EQ(parse_run_id("r42"), RunId{42});
  for (const char* text : {"", "r", "42", "r042", "r42 ", "r-1", "r42-L1-7", "R42"}) {
    EXPECT_FALSE(parse_run_id(text)) << text;
  }
}

TEST(Ids, TheLevelDoesNotMakeAnotherTask) {
  EXPECT_EQ((TaskId{.run = {1}, .index = 2, .level = 3}), (TaskId{.run = {1}, .index = 2}));
}

TEST(Ids, RefusesWhatIsNotExactlyATaskId) {
  for (const char* text :
       {"",        "r",         "r42",       "r42-",      "r42-L",     "r42-L1",     "r42-L1-",
        "42-L1-7", " r42-L1-7", "r42-L1-7 ", "r42-L1-7x", "R42-L1-7",  "r42-l1-7",   "r-L1-7",
        "r42-L-7", "r+42-L1-7", "r-42-L1-7", "r42-L+1-7", "r42-L1--7", "r42-L1-7-8", "xr42-L1-7",
        "r42L1-7", "r042-L1-7", "r42-L01-7", "r42-L1-07", "r0x2-L1-7", "r4 2-L1-7"}) {
    EXPECT_FALSE(parse_task_id(text)) << text;
  }
  EXPECT_FALSE(parse_task_id(std::string_view("r42-L1-7\0", 9)));
  EXPECT_TRUE(parse_task_id("r0-L0-0"));
}

TEST(Ids, M04_LevelIsReadFromTheIdPattern) {
  EXPECT_EQ(level_from_id("RES-L2-001"), 2U);
  EXPECT_EQ(level_from_id("r42-L1-7"), 1U);
  EXPECT_EQ(level_from_id("-L0-"), 0U);
  EXPECT_EQ(level_from_id("a-L007-b"), 7U);
  EXPECT_EQ(level_from_id("any thing-L4294967295-x"), 4294967295U);
}

TEST(Ids, M04_TheFirstLevelInAnIdCounts) {
  EXPECT_EQ(level_from_id("A-L2-B-L3-C"), 2U);
  EXPECT_EQ(level_from_id("A-L2-L3-C"), 2U);
  EXPECT_EQ(level_from_id("A-L-L3-C"), 3U);
  EXPECT_EQ(level_from_id("A-L2x-L3-C"), 3U);
  EXPECT_EQ(level_from_id("A-LL1-L5-C"), 5U);
}

TEST(Ids, M04_AnIdWithoutALevelHasNone) {
  for (const char* text : {"", "-L", "-L-", "-L2", "L2-", "A-L2", "AL2-B", "A-l2-B", "A-L+2-B",
                           "A-L-2-B", "A-L 2-B", "A-L2.5-B", "A-Lx-B"}) {
    EXPECT_FALSE(level_from_id(text)) << text;
  }
}

TEST(Ids, M04_ALevelThatIsTooLargeIsNone) {
  EXPECT_FALSE(level_from_id("A-L4294967296-B"));
  EXPECT_FALSE(level_from_id("A-L99999999999999999999999999-B"));
}

RC_GTEST_PROP(Ids, M04_TheLevelIsFoundAmidAnyText,
              (const std::string& after, std::uint32_t level)) {
  RC_ASSERT(level_from_id("x-L" + std::to_string(level) + "-" + after) == level);
}

}  // namespace
}  // namespace vortex
