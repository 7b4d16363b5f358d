// What a new run may keep of an earlier one.

#include "model/reuse.h"

#include <gmock/gmock.h>

#include "model/check.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using vortex::testing::dag;
using vortex::testing::list;
using vortex::testing::mapped;
using vortex::testing::node;

NodeSpec running(NodeSpec spec, std::string argument) {
  spec.command.argv = {"do", std::move(argument)};
  return spec;
}

PlanPtr plan_of(std::vector<NodeSpec> nodes) {
  auto plan = compile(dag(std::move(nodes)), {});
  EXPECT_TRUE(plan) << plan.error().detail;
  return plan.value_or(nullptr);
}

TaskStates all(const PlanPtr& plan, TaskState state) { return {plan->tasks, state}; }

class Reuse : public ::testing::Test {
 protected:
  // Names of the nodes that are kept, with the earlier run's tasks in these states.
  std::vector<std::string> kept(const TaskStates& states,
                                const std::vector<std::string>& again = {}) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t n = 0; n < now->nodes.size(); ++n) {
      if (std::ranges::find(again, now->node_spec(n).name) != again.end()) nodes.push_back(n);
    }
    std::vector<std::string> names;
    const RunFacts is{.plan = now, .params = params, .slot = slot};
    const RunFacts was{.plan = before, .params = params_before};
    for (const KeptMatch& match : match_kept(is, was, states, nodes)) {
      EXPECT_EQ(now->node_spec(match.node).name, before->node_spec(match.earlier).name);
      names.push_back(now->node_spec(match.node).name);
    }
    return names;
  }
  std::vector<std::string> kept() { return kept(all(before, TaskState::kCompleted)); }
  void both(std::vector<NodeSpec> nodes) { now = before = plan_of(std::move(nodes)); }

  PlanPtr now;
  PlanPtr before;
  std::string params = "{}";
  std::string params_before = "{}";
  Instant slot = kNever;
};

TEST_F(Reuse, WhatCompletedIsKeptAndWhatFailedIsNot) {
  both({node("a"), node("b", {"a"}), node("c", {"b"})});
  EXPECT_THAT(kept({TaskState::kCompleted, TaskState::kCompleted, TaskState::kFailed}),
              ElementsAre("a", "b"));
  EXPECT_THAT(kept({TaskState::kCompleted, TaskState::kRunning, std::nullopt}), ElementsAre("a"));
  EXPECT_THAT(kept({TaskState::kFailed, TaskState::kCompleted, TaskState::kCompleted}), IsEmpty());
}

TEST_F(Reuse, WhatRunsAgainTakesEverythingBehindItAlong) {
  both({node("a"), node("b", {"a"}), node("c", {"b"}), node("d", {"a"})});
  EXPECT_THAT(kept(all(before, TaskState::kCompleted), {"b"}), ElementsAre("a", "d"));
  EXPECT_THAT(kept(all(before, TaskState::kCompleted), {"a"}), IsEmpty());
}

TEST_F(Reuse, AnotherDefinitionRunsAgain) {
  before = plan_of({running(node("a"), "1"), running(node("b", {"a"}), "1"), node("c")});
  now = plan_of({running(node("a"), "1"), running(node("b", {"a"}), "2"), node("c"), node("new")});
  EXPECT_THAT(kept(), ElementsAre("a", "c"));
}

TEST_F(Reuse, NodesAreFoundByTheirNames) {
  before = plan_of({node("a"), node("b")});
  now = plan_of({node("b"), node("a")});
  EXPECT_THAT(kept({TaskState::kCompleted, TaskState::kFailed}), ElementsAre("a"));
}

TEST_F(Reuse, OnlyParamsThatATaskReadsCount) {
  NodeSpec asks = node("c");
  asks.condition = "params.n == 1";
  NodeSpec over = node("m");
  over.map.emplace().over = MapOver{"${{ params.l }}"};
  NodeSpec env = node("e");
  env.command.env = {{"N", "${{ params.deep.x ?? \"1\" }}"}};
  before = plan_of({running(node("a"), "${{ params.n }}"), asks, env, node("z")});
  now = before;
  params_before = R"({"n":1,"deep":{"x":1,"y":2},"l":["a"]})";
  params = R"({"l":["a"], "deep":{"y":3,"x":1},"n":1})";
  EXPECT_THAT(kept(), ElementsAre("a", "c", "e", "z"));
  params = R"({"n":2,"deep":{"x":1,"y":2}})";
  EXPECT_THAT(kept(), ElementsAre("e", "z"));
  params = R"({"n":1,"deep":{"x":2}})";
  EXPECT_THAT(kept(), ElementsAre("a", "c", "z"));
}

TEST_F(Reuse, AMapIsKeptAsAWholeOrNotAtAll) {
  both({mapped("m", list({"a", "b", "c"})), node("after", {"m"})});
  const auto done = TaskState::kCompleted;
  EXPECT_THAT(kept({done, done, done, done}), ElementsAre("m", "after"));
  EXPECT_THAT(kept({done, done, TaskState::kFailed, done}), IsEmpty());
  EXPECT_THAT(kept({done, done, std::nullopt, done}), IsEmpty());
}

TEST_F(Reuse, AMapOfAnotherListRunsAgain) {
  NodeSpec over = node("m", {"list"});
  over.map.emplace().over = MapOver{"${{ tasks.list.outputs.l }}"};
  before = lay_out(*plan_of({node("list"), over}), {1, 0, 2, false, nullptr});
  now = unexpanded(before);
  const auto done = TaskState::kCompleted;
  EXPECT_THAT(kept({done, done, done}), ElementsAre("list", "m"));
  EXPECT_THAT(kept({TaskState::kFailed, done, done}), IsEmpty());
  before = unexpanded(before);
  EXPECT_THAT(kept({done}), ElementsAre("list")) << "it was never made";
}

TEST_F(Reuse, WhatWasSkippedByTheSameConditionIsInNobodysWay) {
  NodeSpec maybe = node("maybe", {"a"});
  maybe.condition = "params.n == 1";
  NodeSpec last = node("last", {"maybe"});
  last.trigger = TriggerRule::kAllDone;
  both({node("a"), maybe, last});
  const TaskStates states{TaskState::kCompleted, TaskState::kSkipped, TaskState::kCompleted};
  params = params_before = R"({"n":2})";
  EXPECT_THAT(kept(states), ElementsAre("a", "last"));
  params = R"({"n":1})";
  EXPECT_THAT(kept(states), ElementsAre("a"));
}

TEST_F(Reuse, AnApprovalCountsForTheSameDagAndParamsOnly) {
  NodeSpec ok = node("ok", {"a"});
  ok.wait = WaitSpec{.kind = WaitKind::kApproval, .text = "Deploy?", .by = {Role::kOperator}};
  both({node("a"), ok, node("deploy", {"ok"})});
  EXPECT_THAT(kept(), ElementsAre("a", "ok", "deploy"));
  params = R"({"version":"2"})";
  EXPECT_THAT(kept(), ElementsAre("a"));
}

TEST_F(Reuse, TasksInFinallyAlwaysRun) {
  NodeSpec clean = node("clean");
  clean.finally = true;
  both({node("a"), clean});
  EXPECT_THAT(kept(), ElementsAre("a"));
}

TEST_F(Reuse, ASlotThatIsReadIsPartOfIt) {
  both({running(node("a"), "${{ run.slot }}"), node("b")});
  EXPECT_THAT(kept(), ElementsAre("a", "b"));
  slot = Instant{5};
  EXPECT_THAT(kept(), ElementsAre("b"));
}

TEST_F(Reuse, BehindABarrierNothingIsKeptAboveALevelThatRunsAgain) {
  DagSpec spec = dag({node("a"), node("b"), node("c", {"b"})});
  spec.barrier_levels = true;
  now = before = *compile(spec, {});
  EXPECT_THAT(kept(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(kept(all(before, TaskState::kCompleted), {"a"}), ElementsAre("b"));
}

}  // namespace
}  // namespace vortex
