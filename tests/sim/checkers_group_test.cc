// 62 to 65: runs of a group, and named limits of tasks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;

DagSpec limited() {
  DagSpec spec = dag({node("a")});
  spec.concurrency.emplace();
  return spec;
}

// Two runs of a group; the second waits for its turn.
struct Grouped {
  Grouped() {
    w = s.join("w1");
    first = s.submit(limited());
    s.commit();
    second = s.submit(limited());
    s.run(second).waits_for_turn = true;
    s.task({second, 0}).state = TaskState::kWaiting;
    s.commit();
  }
  void finish(RunId run) {
    const TaskId task{run, 0};
    s.grant(task, w);
    s.start(task);
    s.commit();
    s.complete(task);
    s.end_run(run, RunState::kCompleted);
  }
  Story s;
  WorkerId w;
  RunId first;
  RunId second;
};

TEST(GroupChecker, ATurnAfterTheEndOfTheOtherIsClean) {
  Grouped g;
  g.finish(g.first);
  g.s.run(g.second).waits_for_turn = false;
  g.s.queue({g.second, 0});
  g.s.commit();
  g.finish(g.second);
  g.s.commit();
  EXPECT_FALSE(g.s.broken().contains("62-group-limit-kept"));
  EXPECT_FALSE(g.s.broken().contains("63-turns-in-order"));
}

TEST(GroupChecker, TwoAtOnceAreFound) {
  Grouped g;
  g.s.run(g.second).waits_for_turn = false;
  g.s.commit();
  EXPECT_THAT(g.s.broken(), Contains("62-group-limit-kept"));
}

TEST(GroupChecker, ATaskOfARunThatWaitsIsFound) {
  Grouped g;
  g.s.queue({g.second, 0});
  g.s.commit();
  EXPECT_THAT(g.s.broken(), Contains("62-group-limit-kept"));
}

TEST(GroupChecker, AYoungerRunThatBeginsFirstIsFound) {
  Grouped g;
  const RunId third = g.s.submit(limited());
  g.s.run(third).waits_for_turn = true;
  g.s.task({third, 0}).state = TaskState::kWaiting;
  g.s.commit();
  g.finish(g.first);
  g.s.run(third).waits_for_turn = false;
  g.s.commit();
  EXPECT_THAT(g.s.broken(), Contains("63-turns-in-order"));
}

TEST(GroupChecker, ARunThatNeverBeginsIsFound) {
  Grouped g;
  EXPECT_THAT(g.s.broken(), Contains("63-turns-in-order"));
}

// Three tasks that name a limit.
struct Named {
  explicit Named(LimitRow row) {
    w = s.join("w1", 8);
    DagSpec spec = dag({node("a"), node("b"), node("c")});
    for (NodeSpec& one : spec.nodes) one.limits = {"api"};
    run = s.submit(spec);
    row.set_at = s.now;
    s.rows().limits.push_back(row);
    s.commit();
  }
  void grant(std::uint32_t index) {
    s.grant({run, index}, w);
    s.task({run, index}).granted_at = s.now;
    s.commit();
  }
  Story s;
  WorkerId w;
  RunId run;
};

TEST(NamedLimitChecker, AsManyAsThereAreSlotsIsCleanAndOneMoreIsFound) {
  Named fits({.name = "api", .slots = 2});
  fits.grant(0);
  fits.grant(1);
  EXPECT_FALSE(fits.s.broken().contains("64-named-limit-kept"));
  Named more({.name = "api", .slots = 2});
  for (std::uint32_t i = 0; i < 3; ++i) more.grant(i);
  EXPECT_THAT(more.s.broken(), Contains("64-named-limit-kept"));
}

TEST(NamedLimitChecker, AGrantWithoutTheLimitIsFound) {
  Named n({.name = "api", .slots = 2});
  n.s.rows().limits.push_back({.name = "api", .removed = true});
  n.s.commit();
  n.grant(0);
  EXPECT_THAT(n.s.broken(), Contains("64-named-limit-kept"));
}

TEST(RateChecker, OneTooManyInAWindowIsFound) {
  const LimitRow rate{.name = "api", .rate = 2, .window = seconds(10)};
  Named slow(rate);
  slow.grant(0);
  slow.grant(1);
  slow.s.pass(seconds(11));
  slow.grant(2);
  EXPECT_FALSE(slow.s.broken().contains("65-rate-kept"));
  Named fast(rate);
  for (std::uint32_t i = 0; i < 3; ++i) fast.grant(i);
  EXPECT_THAT(fast.s.broken(), Contains("65-rate-kept"));
}

}  // namespace
}  // namespace vortex::sim
