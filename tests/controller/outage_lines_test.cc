// What is logged about an outage: at once, at growing intervals, and its end.

#include "controller/outage_lines.h"

#include <gtest/gtest.h>

namespace vortex::controller {
namespace {

TEST(OutageLines, AnOutageIsToldAtOnceThenAtGrowingIntervalsAndWhenItIsOver) {
  OutageLines lines("it answers again");
  const Instant begin{seconds(100).us};
  EXPECT_EQ(lines.worked(begin), std::nullopt) << "it was never away";
  int told = 0;
  for (int second = 0; second < 600; second += 2) {
    const auto line = lines.failed(begin + seconds(second), "no answer");
    if (second == 0) EXPECT_EQ(line, "no answer");
    if (second == 10) EXPECT_EQ(line, "no answer (for 10 s now)");
    if (second > 0 && second < 10) EXPECT_EQ(line, std::nullopt);
    told += line ? 1 : 0;
  }
  EXPECT_EQ(told, 6) << "after 0, 10, 30, 70, 150 and 310 s";
  EXPECT_EQ(lines.worked(begin + seconds(600)), "it answers again after 600.0 s");
  EXPECT_EQ(lines.worked(begin + seconds(601)), std::nullopt);
  EXPECT_EQ(lines.failed(begin + seconds(602), "again"), "again") << "the next one is told at once";
}

}  // namespace
}  // namespace vortex::controller
