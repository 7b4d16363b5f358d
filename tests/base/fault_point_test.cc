#include "base/fault_point.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/faults/fault_points.h"

namespace vortex::faults {
namespace {

TEST(FaultPoint, TextThatIsNotNameAndCountArmsNothing) {
  for (const char* text : {"", "after_commit", "@3", "after_commit@", "after_commit@0",
                           "after_commit@x", "after_commit@3x", "after_commit@-1"}) {
    EXPECT_FALSE(arm_fault_point(text)) << text;
  }
}

TEST(FaultPointDeathTest, KillsAtTheCountAndOnlyAtItsOwnPlace) {
  const auto reach_twice = [] {
    arm_fault_point("here@2");
    fault_point("here");
    fault_point("elsewhere");
    fault_point("elsewhere");
    fault_point("here");
  };
  EXPECT_EXIT(reach_twice(), testing::KilledBySignal(SIGKILL), "");
  const auto reach_once = [] {
    arm_fault_point("here@2");
    fault_point("here");
    std::_Exit(0);
  };
  EXPECT_EXIT(reach_once(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace vortex::faults
