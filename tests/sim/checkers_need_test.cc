// 9, 10: what a task needs before it may start, and what becomes of it when that cannot be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::ElementsAre;

// Two nodes and a third that needs both under a rule; `b` is queued and granted in the end.
struct Needs {
  explicit Needs(TriggerRule rule, bool barrier = false) {
    DagSpec spec = dag({node("a1"), node("a2"), node("b", {"a1", "a2"}, rule)});
    spec.barrier_levels = barrier;
    run = s.submit(spec);
    s.grant(a1, w);
    s.grant(a2, w);
    s.commit();
    s.start(a1);
    s.start(a2);
    s.commit();
  }
  std::set<std::string> granted() {
    s.queue(b);
    s.grant(b, w);
    s.commit();
    return s.broken();
  }
  std::set<std::string> skipped() {
    s.skip(b);
    s.commit();
    return s.broken();
  }
  Story s;
  WorkerId w = s.join("w1");
  RunId run{1};
  TaskId a1{run, 0};
  TaskId a2{run, 1};
  TaskId b{run, 2};
};

TEST(NeedChecker, StartWithAnOpenNeed) {
  for (const auto rule : {TriggerRule::kAllSuccess, TriggerRule::kAllFailed, TriggerRule::kAllDone,
                          TriggerRule::kNoneFailed, TriggerRule::kNoneSkipped}) {
    Needs n(rule);
    n.s.complete(n.a1);
    n.s.commit();
    const auto broken = n.granted();
    EXPECT_TRUE(broken.contains("09-needs-met")) << n.s.report();
  }
}

TEST(NeedChecker, OneOfThemIsEnoughWhereTheRuleSaysSo) {
  Needs success(TriggerRule::kOneSuccess);
  success.s.complete(success.a2);
  EXPECT_THAT(success.granted(), ElementsAre());
  Needs failed(TriggerRule::kOneFailed);
  failed.s.die(failed.a1);
  EXPECT_THAT(failed.granted(), ElementsAre());
  Needs neither(TriggerRule::kOneFailed);
  neither.s.complete(neither.a1);
  EXPECT_THAT(neither.granted(), ElementsAre("09-needs-met"));
}

TEST(NeedChecker, MetInTheSameCommitIsClean) {
  Needs n(TriggerRule::kAllSuccess);
  n.s.complete(n.a1);
  n.s.complete(n.a2);
  EXPECT_THAT(n.granted(), ElementsAre());
}

TEST(NeedChecker, CancelledCountsAsFailed) {
  Needs n(TriggerRule::kAllFailed);
  n.s.cancel(n.a1);
  n.s.die(n.a2);
  EXPECT_THAT(n.granted(), ElementsAre());
}

TEST(NeedChecker, RightToRunOutlivesARetryOfTheNeed) {
  Needs n(TriggerRule::kOneFailed);
  n.s.die(n.a1);
  n.s.queue(n.b);
  n.s.commit();
  n.s.revive(n.a1);
  n.s.commit();
  EXPECT_THAT(n.granted(), ElementsAre());
}

TEST(NeedChecker, LevelBelowIsOpen) {
  DagSpec spec = dag({node("a"), node("other"), node("b", {"a"})});
  spec.barrier_levels = true;
  for (const bool complete_other : {false, true}) {
    Story s;
    const WorkerId w = s.join("w1");
    const RunId run = s.submit(spec);
    s.grant({run, 0}, w);
    s.grant({run, 1}, w);
    s.commit();
    s.complete({run, 0});
    if (complete_other) s.complete({run, 1});
    s.queue({run, 2});
    s.grant({run, 2}, w);
    s.commit();
    EXPECT_EQ(s.broken().contains("09-needs-met"), !complete_other) << s.report();
  }
}

TEST(NeedChecker, MapIsDoneWhenAllItsTasksAre) {
  NodeSpec map = node("m");
  map.map.emplace();
  map.map->over = MapRange{1, 2, 1};
  for (const bool all : {false, true}) {
    Story s;
    const WorkerId w = s.join("w1");
    const RunId run = s.submit(dag({map, node("b", {"m"})}));
    s.queue({run, 0});
    s.grant({run, 0}, w);
    s.queue({run, 1});
    s.grant({run, 1}, w);
    s.commit();
    s.complete({run, 0});
    if (all) s.complete({run, 1});
    s.queue({run, 2});
    s.grant({run, 2}, w);
    s.commit();
    EXPECT_EQ(s.broken().contains("09-needs-met"), !all) << s.report();
  }
}

TEST(SkipChecker, QueuedThoughHopeless) {
  Needs n(TriggerRule::kAllSuccess);
  n.s.die(n.a1);
  n.s.queue(n.b);
  n.s.commit();
  EXPECT_THAT(n.s.broken(), ElementsAre("10-hopeless-is-skipped"));
}

TEST(SkipChecker, SkippedThoughItCouldRun) {
  Needs n(TriggerRule::kAllSuccess);
  n.s.complete(n.a1);
  EXPECT_THAT(n.skipped(), ElementsAre("10-hopeless-is-skipped"));
}

TEST(SkipChecker, SkippedBecauseHopelessIsClean) {
  Needs all(TriggerRule::kAllSuccess);
  all.s.die(all.a1);
  EXPECT_THAT(all.skipped(), ElementsAre());
  Needs none(TriggerRule::kNoneFailed);
  none.s.cancel(none.a2);
  EXPECT_THAT(none.skipped(), ElementsAre());
  Needs one(TriggerRule::kOneFailed);
  one.s.complete(one.a1);
  one.s.complete(one.a2);
  EXPECT_THAT(one.skipped(), ElementsAre());
}

// A map that will never run has no rows; what needs it must be judged without.
TEST(SkipChecker, MapWithoutRowsPassesTheSkipOn) {
  NodeSpec map = node("m", {"a"});
  map.map.emplace();
  map.map->over = MapRange{1, 2, 1};
  Story s;
  const TaskId a = s.running_task(s.join("w1"), dag({node("a"), map, node("c", {"m"}),
                                                     node("d", {"m"}, TriggerRule::kAllDone)}));
  s.die(a);
  s.skip({a.run, 3});
  s.queue({a.run, 4});
  s.grant({a.run, 4}, WorkerId("w1"));
  s.commit();
  s.complete({a.run, 4});
  s.end_run(a.run, RunState::kFailed);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

}  // namespace
}  // namespace vortex::sim
