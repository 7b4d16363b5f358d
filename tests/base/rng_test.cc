#include "base/rng.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace vortex {
namespace {

TEST(Rng, TheSequenceOfASeedNeverChanges) {
  // The published first values of the generator for this seed: recorded seeds stay valid.
  Rng rng(0);
  EXPECT_EQ(rng.next(), 0x99EC5F36CB75F2B4ULL);
  EXPECT_EQ(rng.next(), 0xBF6E1F784956452AULL);
  EXPECT_EQ(rng.next(), 0x1A5F849D4933E6E0ULL);
}

RC_GTEST_PROP(Rng, TheSameSeedGivesTheSameSequence, (std::uint64_t seed)) {
  Rng one(seed);
  Rng two(seed);
  for (int i = 0; i < 100; ++i) RC_ASSERT(one.next() == two.next());
  for (int i = 0; i < 4; ++i) RC_ASSERT(one.words()[i] == two.words()[i]);
}

RC_GTEST_PROP(Rng, NeighbouringSeedsGiveDifferentSequences, (std::uint64_t seed)) {
  RC_ASSERT(Rng(seed).next() != Rng(seed + 1).next());
}

RC_GTEST_PROP(Rng, BelowStaysBelow, (std::uint64_t seed, std::uint64_t bound)) {
  Rng rng(seed);
  for (int i = 0; i < 100; ++i) RC_ASSERT(rng.below(bound) <= (bound == 0 ? 0 : bound - 1));
}

RC_GTEST_PROP(Rng, BetweenIncludesBothEndsAndNothingBeyond,
              (std::uint64_t seed, std::int64_t a, std::int64_t b)) {
  Rng rng(seed);
  const std::int64_t low = std::min(a, b);
  const std::int64_t high = std::max(a, b);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t drawn = rng.between(low, high);
    RC_ASSERT(drawn >= low && drawn <= high);
  }
  RC_ASSERT(rng.between(low, low) == low);
}

TEST(Rng, BetweenCoversTheWholeRange) {
  Rng rng(1);
  std::set<std::int64_t> drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(rng.between(-2, 2));
  EXPECT_EQ(drawn, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
}

TEST(Rng, BetweenTheEndsOfTheTypeDrawsOnBothSidesOfZero) {
  Rng rng(1);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t drawn = rng.between(std::numeric_limits<std::int64_t>::min(),
                                           std::numeric_limits<std::int64_t>::max());
    (drawn < 0 ? negative : positive) = true;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, BelowIsAboutEven) {
  Rng rng(1);
  std::array<int, 10> hits{};
  for (int i = 0; i < 100'000; ++i) ++hits[rng.below(10)];
  for (const int count : hits) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Rng, ChanceIsInThousandths) {
  Rng rng(1);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) {
    hits += rng.chance(250) ? 1 : 0;
    EXPECT_FALSE(rng.chance(0));
    EXPECT_TRUE(rng.chance(1000));
  }
  EXPECT_NEAR(hits, 25'000, 1'000);
}

TEST(Rng, AForkIsAStreamOfItsOwn) {
  Rng parent_one(1);
  Rng parent_two(1);
  Rng child_one = parent_one.fork(1);
  Rng child_two = parent_two.fork(2);
  EXPECT_NE(child_one.next(), child_two.next());
  // What a child draws does not move its parent.
  for (int i = 0; i < 10; ++i) child_one.next();
  EXPECT_EQ(parent_one.next(), parent_two.next());
}

}  // namespace
}  // namespace vortex
