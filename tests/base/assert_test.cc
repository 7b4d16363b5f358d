#include "base/assert.h"

#include <gtest/gtest.h>

namespace vortex {
namespace {

TEST(Assert, AClaimThatHoldsDoesNothing) {
  int evaluated = 0;
  VX_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(Assert, ABrokenClaimEndsTheProcessAndSaysWhichAndWhere) {
  EXPECT_DEATH(VX_ASSERT(1 + 1 == 3), "1 \\+ 1 == 3.*assert_test.cc|assert_test.cc.*1 \\+ 1 == 3");
}

}  // namespace
}  // namespace vortex
