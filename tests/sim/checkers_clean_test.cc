// Histories in which everything goes as it should, though not smoothly: no checker may complain.

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

TEST(Checkers, NamesAreSortedUniqueAndNumbered) {
  const core::Policy policy = story_policy();
  const Checkers checkers(policy);
  const auto names = checkers.names();
  EXPECT_GE(names.size(), 29U);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end(), std::less_equal<>{}));
  EXPECT_EQ(names.front(), "01-submit-kept");
  for (const std::string_view name : names) {
    EXPECT_TRUE(std::isdigit(name[0]) && std::isdigit(name[1]) && name[2] == '-') << name;
  }
}

TEST(Checkers, EmptyHistoryIsClean) {
  Story s;
  s.tell(FaultsStopped{});
  EXPECT_EQ(s.report(), "");
}

TEST(Checkers, ChainOfTwoTasksIsClean) {
  Story s;
  const WorkerId w = s.join("w1");
  const RunId run = s.submit(dag({node("a"), node("b", {"a"})}), "key");
  const TaskId a{run, 0};
  const TaskId b{run, 1};
  s.commit();
  core::SubmitRun submit;
  submit.dag = dag({node("a")});
  submit.idempotency_key = "key";
  s.tell(ClientTold{submit, core::RunAccepted{run, false}});
  s.grant(a, w);
  s.commit();
  const auto first = s.start_process(a);
  s.start(a);
  s.commit();
  s.end_process(first);
  s.complete(a);
  s.queue(b);
  s.grant(b, w);
  s.commit();
  s.end_process(s.start_process(b));
  s.complete(b);
  s.end_run(run, RunState::kCompleted);
  s.run(run).levels_passed = 2;
  s.commit();
  s.tell(FaultsStopped{});
  EXPECT_EQ(s.report(), "");
}

TEST(Checkers, LossOfWorkersAndQuarantineAreClean) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2", 1, "m2");
  const TaskId id = s.running_task(w1);
  const auto first = s.start_process(id);
  s.end_process(first);
  const RecoveryId lost = s.lose(w1, Evidence::kExit);
  s.commit();
  s.grant(id, w2);
  s.rows().recovery_items.push_back({lost, id, {1}, {2}, w1, w2, 2});
  s.commit();
  s.start(id);
  s.commit();
  s.lose(w2, Evidence::kNewIncarnation);
  s.join("w2", 1, "m2");
  s.task(id).state = TaskState::kFailed;
  s.task(id).epoch = {2};
  s.rows().dead_letters.push_back({{id, {2}}, DeathReason::kCrashLimit, {}, s.now, {}});
  s.end_run(id.run, RunState::kFailed);
  s.commit();
  s.tell(FaultsStopped{});
  EXPECT_EQ(s.report(), "");
}

// Grant, loss and the next grant in one transaction: the first grant shows only where it ended.
TEST(Checkers, StepsMergedInOneCommitAreClean) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.grant(id, w1);
  s.lose(w1, Evidence::kOperator);
  s.grant(id, w2);
  s.commit();
  s.start(id);
  s.complete(id);
  s.end_run(id.run, RunState::kCompleted);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(Checkers, RetryReviveAndSkippedTasksAreClean) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId a = s.running_task(w, dag({node("a"), node("b", {"a"})}));
  const TaskId b{a.run, 1};
  s.fail(a);
  s.commit();
  s.grant(a, w);
  s.commit();
  s.start(a);
  s.die(a);
  s.skip(b);
  s.end_run(a.run, RunState::kFailed);
  s.commit();
  s.revive(a);
  s.task(b).state = TaskState::kWaiting;
  s.commit();
  core::RedriveDeadLetter redrive;
  redrive.task = a;
  s.tell(ClientTold{redrive, core::Done{}});
  s.grant(a, w);
  s.commit();
  s.complete(a);
  s.queue(b);
  s.grant(b, w);
  s.commit();
  s.complete(b);
  s.end_run(a.run, RunState::kCompleted);
  s.commit();
  s.tell(FaultsStopped{});
  EXPECT_EQ(s.report(), "");
}

TEST(Checkers, MapThatStopsAndIsRevivedIsClean) {
  Story s;
  const WorkerId w = s.join("w1");
  NodeSpec map = node("m");
  map.map.emplace();
  map.map->over = MapRange{1, 3, 1};
  map.map->max_failures = 0;
  const RunId run = s.submit(dag({map, node("after", {"m"}, TriggerRule::kAllDone)}));
  s.commit();
  s.queue({run, 0});
  s.queue({run, 1});
  s.grant({run, 0}, w);
  s.commit();
  s.start({run, 0});
  s.die({run, 0});
  s.commit();
  s.skip({run, 1});  // the third is never made
  s.queue({run, 3});
  s.grant({run, 3}, w);
  s.commit();
  s.revive({run, 0});
  s.commit();
  s.queue({run, 1});  // in a later slice
  s.commit();
  s.complete({run, 3});
  s.cancel({run, 0});
  s.cancel({run, 1});
  s.queue({run, 2});
  s.cancel({run, 2});
  s.end_run(run, RunState::kFailed);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(Checkers, CancelledRunIsClean) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId a = s.running_task(w, dag({node("a"), node("b", {"a"})}));
  s.run(a.run).ending = RunEnding::kCancelled;
  s.task(a).stop = StopReason::kCancel;
  s.commit();
  core::CancelRun cancel;
  cancel.run = a.run;
  s.tell(ClientTold{cancel, core::Done{}});
  s.cancel({a.run, 1});
  s.commit();
  s.cancel(a);
  s.end_run(a.run, RunState::kCancelled);
  s.commit();
  s.tell(FaultsStopped{});
  EXPECT_EQ(s.report(), "");
}

}  // namespace
}  // namespace vortex::sim
