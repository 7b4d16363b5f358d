// Maps made at run time: what they are made of, when, and that every controller makes the same.

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeSpec over(NodeSpec node, std::string expression) {
  node.map.emplace().over = MapOver{std::move(expression)};
  return node;
}

NodeSpec by_rule(NodeSpec node, TriggerRule rule) {
  node.trigger = rule;
  return node;
}

constexpr const char* kFiles = "${{ tasks.list.outputs.files }}";

class LateMaps : public LifeTest {
 protected:
  LateMaps() { allow(); }
  explicit LateMaps(const Policy& chosen) : LifeTest(chosen) { allow(); }

  void allow() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskSkipped,
            EventKind::kTaskRetry, EventKind::kTaskCancelled, EventKind::kRunPaused,
            EventKind::kRunResumed});
  }
  RunId submit_with(std::vector<NodeSpec> nodes, std::string params) {
    SubmitRun command;
    command.dag = dag(std::move(nodes));
    command.params = std::move(params);
    return ask<RunAccepted>(command).run;
  }
  std::shared_ptr<const RunImage> image_of(RunId run) {
    return std::make_shared<const RunImage>(mirror.run_image(run));
  }
  static std::string item_of(const Assignment& given) {
    return std::get<PlannedWork>(given.work).plan->map_item(given.attempt.task.index);
  }
  // The items of everything that the worker was given, completed as it comes.
  std::vector<std::string> work_off(Hand& w) {
    std::vector<std::string> items;
    while (!w.assigned.empty()) {
      items.push_back(item_of(w.assigned.front()));
      complete(w, take_assignment(w));
    }
    return items;
  }
  const LateCounts& late(RunId run) { return mirror.runs.at(run).late; }
};

TEST_F(LateMaps, AnOutputOfAnEarlierTaskBecomesOneTaskPerItem) {
  Hand& w = join("w", 8);
  const RunId run =
      submit({node("list"), over(node("resize", {"list"}), kFiles), node("last", {"resize"})});
  EXPECT_TRUE(late(run).empty());
  complete(w, take_assignment(w), R"({"files":["a b.jpg",7,true,{"w": 1,"h":[2, 3]},["x"]]})");
  EXPECT_THAT(late(run), ElementsAre(1, 5));
  EXPECT_THAT(work_off(w),
              ElementsAre("a b.jpg", "7", "true", R"({"w":1,"h":[2,3]})", R"(["x"])", ""));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(LateMaps, AParamIsKnownAtOnce) {
  Hand& w = join("w", 8);
  const RunId run =
      submit_with({over(node("m"), "${{ params.hosts[0] }}")}, R"({"hosts":[["x","y"],["z"]]})");
  EXPECT_THAT(late(run), ElementsAre(0, 2));
  EXPECT_THAT(work_off(w), ElementsAre("x", "y"));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(LateMaps, AnObjectIsGoneOverByItsMembers) {
  Hand& w = join("w", 8);
  submit_with({over(node("m"), "${{ params.sites }}")},
              R"({"sites":{"de": 1, "a\"b":{"x": [ ]}}})");
  EXPECT_THAT(work_off(w),
              ElementsAre(R"({"key":"de","value":1})", R"({"key":"a\"b","value":{"x":[]}})"));
}

TEST_F(LateMaps, WithoutItemsTheMapIsDoneAtOnceAndCountsAsASuccess) {
  Hand& w = join("w", 8);
  for (const auto& [rule, starts] :
       std::vector<std::pair<TriggerRule, bool>>{{TriggerRule::kAllSuccess, true},
                                                 {TriggerRule::kAllFailed, false},
                                                 {TriggerRule::kAllDone, true},
                                                 {TriggerRule::kOneSuccess, true},
                                                 {TriggerRule::kOneFailed, false},
                                                 {TriggerRule::kNoneFailed, true},
                                                 {TriggerRule::kNoneSkipped, true}}) {
    const RunId run = submit(
        {node("list"), over(node("m", {"list"}), kFiles), by_rule(node("after", {"m"}), rule)});
    complete(w, take_assignment(w), R"({"files":[]})");
    EXPECT_THAT(late(run), ElementsAre(1, 0));
    EXPECT_EQ(w.assigned.size(), starts ? 1u : 0u) << static_cast<int>(rule);
    reload();
    work_off(w);
    EXPECT_EQ(state_of(run), RunState::kCompleted);
  }
}

TEST_F(LateMaps, WhatIsNoListFailsWithOneTaskThatSaysWhy) {
  const auto error_with = [this](const std::string& outputs) {
    Hand& w = join("w" + std::to_string(state->counters.next_run.value), 1);
    const RunId run = submit({node("list"), over(node("m", {"list"}), kFiles), node("z", {"m"})});
    complete(w, take_assignment(w), outputs);
    EXPECT_EQ(state_of(run), RunState::kFailed);
    EXPECT_THAT(late(run), ElementsAre(1, kLateFailed));
    const TaskRow& failed = row({run, 2});
    EXPECT_EQ(failed.state, TaskState::kFailed);
    EXPECT_EQ(mirror.dead_letters.rbegin()->second.reason, DeathReason::kMapError);
    EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
    EXPECT_EQ(ask_in_vain(RetryTask{{}, failed.id, image_of(run)}), RefusalKind::kWrongState);
    hush(w);
    return failed.error_message;
  };
  const std::string begin = std::string("cannot make the items of the map over ") + kFiles + ": ";
  EXPECT_EQ(error_with(R"({"files":"a"})"),
            begin + "the value is a string; a map needs a list or an object");
  EXPECT_EQ(error_with(R"({"files":null})"),
            begin + "the value is null; a map needs a list or an object");
  EXPECT_EQ(error_with(R"({"other":[1]})"), begin + "task 'list' has no such output");
  EXPECT_EQ(error_with(""), begin + "task 'list' has no such output");
  EXPECT_EQ(error_with(R"({"files":["a",null]})"), begin + "the value has null as item 1");
  EXPECT_THAT(error_with(R"({"files":["a\u0000b"]})"), HasSubstr("item 0: the value"));
  ignore_everything_from_here();
}

TEST_F(LateMaps, AMissingParamFailsTheMap) {
  const RunId run = submit_with({over(node("m"), "${{ params.files }}")}, R"({"n":1})");
  EXPECT_THAT(row({run, 0}).error_message, HasSubstr("the run has no such param"));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(LateMaps, ASourceThatFailedLeavesNoItems) {
  Hand& w = join("w", 8);
  const RunId run = submit({with_retries(node("list"), 0),
                            by_rule(over(node("m", {"list"}), kFiles), TriggerRule::kAllDone)});
  fail(w, take_assignment(w));
  EXPECT_THAT(row({run, 1}).error_message, HasSubstr("task 'list' failed, so it has no outputs"));
}

TEST_F(LateMaps, ItWaitsForAFarTaskWhoseOutputItGoesOver) {
  Hand& w = join("w", 8);
  const RunId run =
      submit({node("list"), node("quick"),
              by_rule(over(node("m", {"list", "quick"}), kFiles), TriggerRule::kOneSuccess)});
  const Attempt source = take_assignment(w);
  complete(w, take_assignment(w));
  EXPECT_TRUE(late(run).empty());
  reload();
  complete(w, source, R"({"files":[1,2]})");
  EXPECT_THAT(work_off(w), ElementsAre("1", "2"));
}

TEST_F(LateMaps, WhatWasMadeIsGoneOnWithAfterAReload) {
  Hand& w = join("w", 2);
  const RunId run = submit({node("list"), over(node("m", {"list"}), kFiles),
                            over(node("n", {"list"}), kFiles), node("z", {"n"})});
  complete(w, take_assignment(w), R"({"files":["x","y","z"]})");
  reload();
  EXPECT_THAT(late(run), ElementsAre(1, 3, 2, 3));
  EXPECT_THAT(work_off(w), ElementsAre("x", "y", "z", "x", "y", "z", ""));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(LateMaps, AFailedItemOfAFinishedRunIsRunAgain) {
  Hand& w = join("w", 8);
  const RunId run = submit({node("list"), with_retries(over(node("m", {"list"}), kFiles), 0)});
  complete(w, take_assignment(w), R"({"files":["x","y"]})");
  complete(w, take_assignment(w));
  const Attempt y = take_assignment(w);
  fail(w, y);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  ask_done(RetryTask{{}, y.task, image_of(run)});
  EXPECT_THAT(work_off(w), ElementsAre("y"));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(LateMaps, ASkippedMapIsMadeWhenItsSourceIsRunAgain) {
  Hand& w = join("w", 8);
  const RunId run =
      submit({with_retries(node("list"), 0), over(node("m", {"list"}), kFiles), node("other")});
  fail(w, take_assignment(w));
  ask_done(RetryTask{{}, {run, 0}, nullptr});
  const Attempt other = take_assignment(w);
  complete(w, take_assignment(w), R"({"files":["x"]})");
  EXPECT_THAT(work_off(w), ElementsAre("x"));
  complete(w, other);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(LateMaps, ACancelledRunEndsWithMapsThatWereNeverMade) {
  Hand& w = join("w", 8);
  const RunId run = submit({node("list"), over(node("m", {"list"}), kFiles)});
  ask_done(CancelRun{{}, run});
  reload();
  take_stop(w);
  end(w, w.held.front().attempt, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  ignore_everything_from_here();
}

TEST_F(LateMaps, MaxParallelAndMaxFailuresHoldForThemToo) {
  Hand& w = join("w", 8);
  NodeSpec m = with_retries(over(node("m", {"list"}), kFiles), 0);
  m.map->max_parallel = 2;
  m.map->max_failures = 0;
  const RunId run = submit({node("list"), m});
  complete(w, take_assignment(w), R"({"files":[1,2,3,4,5]})");
  EXPECT_EQ(w.assigned.size(), 2u);
  fail(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_THAT(w.assigned, IsEmpty());
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(LateMaps, AConditionDecidesBeforeTheItemsDo) {
  Hand& w = join("w", 8);
  NodeSpec m = over(node("m", {"list"}), kFiles);
  m.condition = "tasks.list.outputs.go";
  const RunId run = submit({node("list"), m});
  complete(w, take_assignment(w), R"({"go":false,"files":"wrong"})");
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_TRUE(late(run).empty());
}

TEST_F(LateMaps, ExplainNamesWhatIsNotKnownYet) {
  join("w", 8);
  const RunId run = submit({node("list"), over(node("m", {"list"}), kFiles), node("z", {"m"})});
  const Explanation why = explain(*state, {run, 1}, now);
  EXPECT_THAT(why.details.front(), HasSubstr("0 of an unknown number of tasks"));
  ignore_everything_from_here();
}

class BoundedLateMaps : public LateMaps {
 protected:
  BoundedLateMaps() : LateMaps(policy()) {}
  static Policy policy() {
    Policy policy = test_policy();
    policy.dag_limits.tasks_max = 6;
    policy.quota.tasks = 9;
    policy.bulk_tasks_per_step = 2;
    return policy;
  }
};

TEST_F(BoundedLateMaps, MoreTasksThanARunMayHaveFailTheMap) {
  Hand& w = join("w", 8);
  const RunId run = submit({node("list"), over(node("m", {"list"}), kFiles)});
  complete(w, take_assignment(w), R"({"files":[1,2,3,4,5,6]})");
  EXPECT_THAT(row({run, 1}).error_message, HasSubstr("6 more tasks after 1 are too many"));
}

TEST_F(BoundedLateMaps, TheirTasksCountForTheQuota) {
  Hand& w = join("w", 1);
  const RunId first = submit({node("list"), over(node("m", {"list"}), kFiles)});
  const RunId second = submit({node("list"), over(node("m", {"list"}), kFiles)});
  complete(w, take_assignment(w), R"({"files":[1,2,3,4,5]})");
  EXPECT_EQ(state->taken.tasks, 7u);
  const Attempt other = take_assignment(w);
  EXPECT_EQ(other.task.run, second);
  complete(w, other, R"({"files":[1,2,3]})");
  EXPECT_THAT(row({second, 1}).error_message, HasSubstr("7 of 9 tasks of live runs are in use"));
  EXPECT_EQ(state->taken.tasks, 6u);
  reload();
  EXPECT_EQ(state->taken.tasks, 6u);
  EXPECT_EQ(work_off(w).size(), 5u);
  EXPECT_EQ(state_of(first), RunState::kCompleted);
  EXPECT_EQ(state->taken.tasks, 0u);
}

TEST_F(BoundedLateMaps, AReloadInTheMiddleGoesOnMakingThem) {
  Hand& w = join("w", 8);
  const RunId run = submit({node("list"), over(node("m", {"list"}), kFiles)});
  SyncRequest last_words = request_of(w);
  last_words.reports.push_back({take_assignment(w), Completed{R"({"files":[1,2,3,4,5]})"}});
  raw(Sync{{}, std::move(last_words)});
  EXPECT_THAT(late(run), ElementsAre(1, 5));
  EXPECT_LE(mirror.tasks.size(), 3u);
  w.held.clear();
  reload();
  advance(seconds(1));
  EXPECT_THAT(work_off(w), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

}  // namespace
}  // namespace vortex::core
