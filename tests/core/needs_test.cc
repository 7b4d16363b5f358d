// Needs and trigger rules: what starts when, what waits, and what never runs.

#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using enum TriggerRule;

NodeRun ended(std::uint32_t ok, std::uint32_t failed, std::uint32_t skipped) {
  NodeRun node;
  node.needs_done = ok + failed + skipped;
  node.needs_ok = ok;
  node.needs_failed = failed;
  node.needs_skipped = skipped;
  return node;
}

struct RuleCase {
  TriggerRule rule;
  std::uint32_t ok, failed, skipped;  // of three needs
  RuleSays says;
};

TEST(Rules, EachOfTheSevenStartsWaitsOrGivesUp) {
  constexpr auto kGo = RuleSays::kStart;
  constexpr auto kWait = RuleSays::kWait;
  constexpr auto kNever = RuleSays::kNever;
  const std::vector<RuleCase> cases{
      {kAllSuccess, 3, 0, 0, kGo},    {kAllSuccess, 2, 0, 0, kWait},
      {kAllSuccess, 1, 1, 0, kNever}, {kAllSuccess, 1, 0, 1, kNever},
      {kAllFailed, 0, 3, 0, kGo},     {kAllFailed, 0, 2, 0, kWait},
      {kAllFailed, 1, 0, 0, kNever},  {kAllFailed, 0, 1, 1, kNever},
      {kAllDone, 1, 1, 1, kGo},       {kAllDone, 0, 2, 0, kWait},
      {kAllDone, 0, 0, 3, kGo},       {kOneSuccess, 1, 0, 0, kGo},
      {kOneSuccess, 0, 2, 0, kWait},  {kOneSuccess, 0, 2, 1, kNever},
      {kOneFailed, 0, 1, 0, kGo},     {kOneFailed, 2, 0, 0, kWait},
      {kOneFailed, 2, 0, 1, kNever},  {kNoneFailed, 2, 0, 1, kGo},
      {kNoneFailed, 0, 0, 3, kGo},    {kNoneFailed, 1, 0, 1, kWait},
      {kNoneFailed, 0, 1, 0, kNever}, {kNoneSkipped, 1, 2, 0, kGo},
      {kNoneSkipped, 1, 1, 0, kWait}, {kNoneSkipped, 0, 0, 1, kNever},
  };
  for (const RuleCase& c : cases) {
    EXPECT_EQ(judge_rule(c.rule, 3, ended(c.ok, c.failed, c.skipped)), c.says)
        << "rule " << static_cast<int>(c.rule) << ": " << c.ok << " ok, " << c.failed << " failed, "
        << c.skipped << " skipped";
  }
}

class Needs : public LifeTest {
 protected:
  Needs() { ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered}); }
};

TEST_F(Needs, ATaskStartsOnlyWhenAllItNeedsIsComplete) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("a"), node("b"), node("c", {"a", "b"})});
  const Attempt a = take_and_start(w);
  const Attempt b = take_and_start(w);
  complete(w, a);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  complete(w, b);
  const Attempt c = take_assignment(w);
  EXPECT_EQ(c.task, (TaskId{run, 2}));
  complete(w, c);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Needs, WithoutNeedsEveryRuleStartsAtOnce) {
  Hand& w = join("w", 7);
  std::vector<NodeSpec> nodes;
  for (const auto rule :
       {kAllSuccess, kAllFailed, kAllDone, kOneSuccess, kOneFailed, kNoneFailed, kNoneSkipped}) {
    NodeSpec spec = node("n" + std::to_string(nodes.size()));
    spec.trigger = rule;
    nodes.push_back(spec);
  }
  submit(nodes);
  for (int i = 0; i < 7; ++i) complete(w, take_assignment(w));
}

TEST_F(Needs, WhatCanNoLongerRunIsSkippedAllTheWayDown) {
  Hand& w = join("w", 4);
  const RunId run =
      submit({with_retries(node("a"), 0), node("b", {"a"}), node("c", {"b"}), node("d")});
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kRunning);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Needs, OneFailedStartsTheCleanUpWithoutWaitingForTheOthers) {
  Hand& w = join("w", 4);
  NodeSpec cleanup = node("cleanup", {"a", "b"});
  cleanup.trigger = kOneFailed;
  const RunId run = submit({with_retries(node("a"), 0), node("b"), cleanup});
  fail(w, take_assignment(w));
  const Attempt b = take_assignment(w);
  const Attempt clean = take_assignment(w);
  EXPECT_EQ(clean.task, (TaskId{run, 2}));
  complete(w, clean);
  complete(w, b);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Needs, AllDoneRunsHoweverItsNeedsEnded) {
  Hand& w = join("w", 4);
  NodeSpec last = node("last", {"a", "b"});
  last.trigger = kAllDone;
  submit({with_retries(node("a"), 0), node("b", {"a"}), last});
  fail(w, take_assignment(w));
  complete(w, take_assignment(w));
}

TEST_F(Needs, ATaskThatWasCancelledCountsAsNotSuccessful) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("a"), node("b", {"a"}), node("c", {"b"})});
  const Attempt a = take_assignment(w);
  ask_done(CancelTask{{}, {run, 1}});
  take(EventKind::kTaskCancelled);
  EXPECT_EQ(state_of({run, 1}), TaskState::kCancelled);
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  complete(w, a);
  EXPECT_NE(state_of(run), RunState::kRunning);
}

TEST_F(Needs, AChainOfFiftyThousandSkipsNeedsNoStack) {
  expect_clean = false;  // the check of so large a run after every step is not the point here
  policy.dag_limits.depth_max = 100'000;
  state->policy.dag_limits.depth_max = 100'000;
  policy.nodes_at_once = state->policy.nodes_at_once = 100'000;  // every skip has a row
  Hand& w = join("w");
  std::vector<NodeSpec> nodes{with_retries(node("n0"), 0)};
  for (int i = 1; i < 50'000; ++i) {
    nodes.push_back(node("n" + std::to_string(i), {"n" + std::to_string(i - 1)}));
  }
  const RunId run = submit(nodes);
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 49'999}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

}  // namespace
}  // namespace vortex::core
