// Random walks: what must hold whatever the network does, and that it ends.

#include "tests/agent/walk.h"

#include <gtest/gtest.h>

namespace vortex::agent {
namespace {

TEST(Walks, V04_NothingIsLostStartedTwiceOrLeftRunningPastItsLease) {
  std::uint32_t fenced = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Walk walk(seed);
    walk.run();
    ASSERT_TRUE(walk.wrong().empty()) << "seed " << seed << ": " << walk.wrong().front();
    ASSERT_EQ(walk.tasks_left(), 0u) << "seed " << seed;
    fenced += walk.fenced();
  }
  EXPECT_GT(fenced, 0u) << "the walks never got as far as a self-fence";
}

TEST(Walks, SameSeedSameWalk) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Walk first(seed);
    Walk second(seed);
    first.run();
    second.run();
    EXPECT_EQ(first.digest(), second.digest());
  }
}

}  // namespace
}  // namespace vortex::agent
