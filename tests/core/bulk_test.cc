// Work on very many tasks is done in slices; what a slice has not reached is already barred.

#include "core/explain.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

constexpr std::uint32_t kSlice = 8;
constexpr std::uint32_t kItems = 50;

Policy sliced() {
  Policy policy = test_policy();
  policy.bulk_tasks_per_step = kSlice;
  return policy;
}

class Bulk : public LifeTest {
 protected:
  explicit Bulk(const Policy& chosen = sliced()) : LifeTest(chosen) {
    ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled, EventKind::kRunPaused,
            EventKind::kRunResumed, EventKind::kTaskFailed, EventKind::kTaskDeadLettered,
            EventKind::kTaskRetry});
  }
  RunId submit_map() { return submit({mapped("m", range(1, kItems))}); }
  // Single steps until nothing is left to do at once; every one of them is short.
  int steps_to_rest() {
    int steps = 0;
    while (state->next_wake() <= now && steps < 1'000) {
      const Effects fx = raw(Tick{});
      EXPECT_LE(fx.rows.tasks.size(), 2 * kSlice);
      ++steps;
    }
    return steps;
  }
  void finish_all(Hand& hand, RunId run) {
    while (!hand.held.empty()) complete(hand, hand.held.front().attempt);
    hand.assigned.clear();
    EXPECT_NE(state_of(run), RunState::kRunning);
  }
};

// A look in vain costs the whole slice, and is over all the same.
TEST_F(Bulk, SlicesOfOneComeToRest) {
  state->policy.bulk_tasks_per_step = 1;
  Hand& w = join("w", 1);
  NodeSpec unfit = node("unfit");
  unfit.requirements.labels = {{"zone", "nowhere"}};
  submit({unfit, node("a"), node("b")});
  EXPECT_LT(steps_to_rest(), 100);
  EXPECT_EQ(take_assignment(w).task.index, 1u);
}

TEST_F(Bulk, AWideMapIsMadeInSlices) {
  SubmitRun command;
  command.dag = dag({mapped("m", range(1, kItems))});
  const Effects first = raw(command);
  EXPECT_LE(first.rows.tasks.size(), kSlice);
  EXPECT_GE(steps_to_rest(), static_cast<int>(kItems / kSlice) - 1);
  EXPECT_EQ(mirror.tasks.size(), kItems);
}

class LargeDag : public Bulk {
 protected:
  LargeDag() : Bulk(with_few_at_once()) {}
  static Policy with_few_at_once() {
    Policy policy = sliced();
    policy.nodes_at_once = 20;
    return policy;
  }
  // kItems single tasks, and one that needs the first of them.
  static std::vector<NodeSpec> large() {
    std::vector<NodeSpec> nodes;
    for (std::uint32_t i = 0; i < kItems; ++i) nodes.push_back(node("n" + std::to_string(i)));
    nodes.front().retry.emplace().max_retries = 0;
    nodes.push_back(node("after", {"n0"}));
    return nodes;
  }
  // The step of the submit alone.
  RunId begin_large() {
    SubmitRun command;
    command.dag = dag(large());
    const Effects first = raw(command);
    EXPECT_LE(first.rows.tasks.size(), kSlice);
    return RunId{1};
  }
};

TEST_F(LargeDag, ItsSingleTasksAreMadeInSlicesToo) {
  const RunId run = begin_large();
  EXPECT_GE(steps_to_rest(), static_cast<int>(kItems / kSlice) - 1);
  EXPECT_EQ(mirror.tasks.size(), kItems);
  EXPECT_EQ(explain(*state, {run, kItems}, now).reason, WaitReason::kNotMadeYet);
  Hand& w = join("w", 100);
  finish_all(w, run);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(mirror.tasks.size(), kItems + 1);
}

TEST_F(LargeDag, ASmallerOneHasAllItsTasksAtOnce) {
  state->policy.nodes_at_once = kItems + 1;
  SubmitRun command;
  command.dag = dag(large());
  EXPECT_EQ(raw(command).rows.tasks.size(), kItems + 1);
}

TEST_F(LargeDag, IsMadeToItsEndAfterAReload) {
  const RunId run = begin_large();
  reload();  // a repair would leave an event that nobody takes
  EXPECT_EQ(mirror.tasks.size(), kItems);
  Hand& w = join("w", 100);
  finish_all(w, run);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(LargeDag, ACancelWhileItIsBeingMadeEndsIt) {
  const RunId run = begin_large();
  raw(CancelRun{{}, run});
  steps_to_rest();
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  EXPECT_LT(mirror.tasks.size(), kItems);
}

TEST_F(LargeDag, WhatNeedsAFailedTaskIsSkippedAndComesBackWithIt) {
  const RunId run = begin_large();
  steps_to_rest();
  Hand& w = join("w", 100);
  const Attempt first = w.held.front().attempt;
  ASSERT_EQ(first.task.index, 0U);
  fail(w, first);
  EXPECT_EQ(explain(*state, {run, kItems}, now).reason, WaitReason::kFinal);
  ask_done(RetryTask{{}, first.task, nullptr});
  EXPECT_EQ(explain(*state, {run, kItems}, now).reason, WaitReason::kNotMadeYet);
  finish_all(w, run);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Bulk, HandingOutIsSlicedTooAndGivesEveryTaskAway) {
  const RunId run = submit_map();
  Hand& w = join("w", 100);
  EXPECT_EQ(w.held.size(), kItems);
  finish_all(w, run);
}

TEST_F(Bulk, ACancelledRunStartsNothingWhileTheSweepIsUnderWay) {
  const RunId run = submit_map();
  raw(CancelRun{{}, run});
  EXPECT_EQ(state_of({run, kItems - 1}), TaskState::kQueued);
  Hand& w = join("w", 100);
  EXPECT_TRUE(w.held.empty());
  steps_to_rest();
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  for (const TaskRow& task : mirror.tasks_of(run)) EXPECT_EQ(task.state, TaskState::kCancelled);
}

TEST_F(Bulk, ACancelWhileTheMapIsStillBeingMadeEndsIt) {
  SubmitRun command;
  command.dag = dag({mapped("m", range(1, kItems)), node("after", {"m"})});
  raw(command);
  raw(CancelRun{{}, RunId{1}});
  steps_to_rest();
  EXPECT_EQ(state_of(RunId{1}), RunState::kCancelled);
  EXPECT_LT(mirror.tasks.size(), kItems);
}

TEST_F(Bulk, APauseBarsWhatTheSweepHasNotReached) {
  const RunId run = submit_map();
  raw(PauseRun{{}, run, true});
  Hand& w = join("w", 100);
  EXPECT_TRUE(w.held.empty());
  raw(PauseRun{{}, run, false});
  raw(PauseRun{{}, run, true});
  raw(PauseRun{{}, run, false});
  steps_to_rest();
  step(Tick{});
  EXPECT_EQ(w.held.size(), kItems);
  finish_all(w, run);
}

TEST_F(Bulk, AStoppedMapStartsNothingMoreWhileItsItemsAreSkipped) {
  NodeSpec m = with_retries(mapped("m", range(1, kItems)), 0);
  m.map->max_failures = 0;
  Hand& w = join("w", 1);
  const RunId run = submit({m});
  fail(w, take_assignment(w));
  steps_to_rest();
  EXPECT_TRUE(w.held.empty());
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(state_of({run, kItems - 1}), TaskState::kSkipped);
}

TEST_F(Bulk, AMapThatFailsWhileItIsBeingMadeMakesNoMore) {
  NodeSpec m = with_retries(mapped("m", range(1, kItems)), 0);
  m.map->max_failures = 0;
  Hand& w = join("w", 1);
  SubmitRun command;
  command.dag = dag({m, node("after", {"m"})});
  raw(command);
  const Attempt first = take_assignment(w);
  w.drop(first);
  SyncRequest call = request_of(w);
  call.reports = {{first, Failed{}}};
  send(w, call);
  steps_to_rest();
  EXPECT_EQ(state_of(RunId{1}), RunState::kFailed);
  EXPECT_LT(mirror.tasks.size(), kItems);
  EXPECT_EQ(state_of({RunId{1}, kItems}), TaskState::kSkipped);
}

// In the rows a map without an item has not begun, so a reload would let it wait: memory does too.
TEST_F(Bulk, AMapThatHasMadeNoItemWaitsAgainWhenARetryOpensWhatItNeeds) {
  ignore({EventKind::kTaskRetry});
  const auto when_failed = [](const char* name) {
    NodeSpec map = mapped(name, range(1, kItems));
    map.needs = {"a"};
    map.trigger = TriggerRule::kOneFailed;
    return map;
  };
  Hand& w = join("w", 1);
  const RunId run =
      submit({with_retries(node("a"), 0), when_failed("first"), when_failed("second")});
  const Attempt a = take_assignment(w);
  w.drop(a);
  SyncRequest call = request_of(w);
  call.reports = {{a, Failed{}}};
  send(w, call);
  EXPECT_LT(mirror.tasks.size(), kItems);
  ask_done(RetryTask{{}, {run, 0}, {}});
  EXPECT_EQ(mirror.tasks.size(), 1 + kItems);
  while (w.held.front().attempt.task.index != 0) complete(w, w.held.front().attempt);
  finish_all(w, run);
  EXPECT_EQ(mirror.tasks.size(), 1 + kItems);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

// The sweep has the items of another map before it: what was run again may end first.
TEST_F(Bulk, AMapThatGoesOnDoesNotEndBeforeItsSkippedItemsAreBack) {
  ignore({EventKind::kTaskRetry});
  NodeSpec stops = with_retries(mapped("m", range(1, 3)), 0);
  stops.map->max_failures = 0;
  Hand& w = join("w", 1);
  const RunId run = submit({mapped("a", range(1, kItems)), stops});
  while (w.held.front().attempt.task.index < kItems) complete(w, w.held.front().attempt);
  fail(w, w.held.front().attempt);
  ASSERT_EQ(state_of(run), RunState::kFailed);
  w.assigned.clear();
  raw(RetryTask{{77}, {run, kItems}, std::make_shared<const RunImage>(mirror.run_image(run))});
  take_reply<Done>();
  ASSERT_FALSE(w.held.empty());
  const Attempt again = w.held.front().attempt;
  w.drop(again);
  SyncRequest call = request_of(w);
  call.reports = {{again, Completed{}}};
  send(w, call);
  EXPECT_EQ(state_of(run), RunState::kRunning);
  steps_to_rest();
  step(Tick{});
  finish_all(w, run);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(state_of({run, kItems + 2}), TaskState::kCompleted);
}

TEST_F(Bulk, AReloadInTheMiddleOfASliceGoesOn) {
  SubmitRun command;
  command.dag = dag({mapped("m", range(1, kItems))});
  raw(command);
  reload();
  EXPECT_EQ(mirror.tasks.size(), kItems);
  raw(CancelRun{{}, RunId{1}});
  reload();
  EXPECT_EQ(state_of(RunId{1}), RunState::kCancelled);
}

// Whoever ticks decides how much of it one commit carries.
TEST_F(Bulk, AfterTheFirstSliceOnlyATickThatAsksForItGoesOn) {
  SubmitRun command;
  command.dag = dag({mapped("m", range(1, kItems))});
  raw(command);
  EXPECT_EQ(mirror.tasks.size(), kSlice);
  raw(command);
  EXPECT_EQ(mirror.tasks.size(), kSlice) << "the next one waits for its turn";
  raw(Tick{.bulk = false});
  EXPECT_EQ(mirror.tasks.size(), kSlice);
  EXPECT_LE(state->next_wake(), now);
  EXPECT_GT(state->next_due(), now);
  raw(PauseQueue{{}, "default", true});
  EXPECT_EQ(mirror.tasks.size(), kSlice) << "others' commands carry none of it";
  raw(Tick{});
  EXPECT_EQ(mirror.tasks.size(), 2 * kSlice);
  steps_to_rest();
  EXPECT_EQ(mirror.tasks.size(), 2 * kItems);
  take(EventKind::kQueuePaused);
  replies.clear();
}

}  // namespace
}  // namespace vortex::core
