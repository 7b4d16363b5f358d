// Restarts at awkward moments: in the middle of a sweep, and with old messages still on the way.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

constexpr std::uint32_t kItems = 40;

Policy small_steps() {
  Policy policy = test_policy();
  policy.bulk_tasks_per_step = 4;
  return policy;
}

class Restart : public LifeTest {
 protected:
  Restart() : LifeTest(small_steps()) {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskRetry});
  }
  static NodeSpec fragile_map() {
    NodeSpec m = with_retries(mapped("m", range(1, kItems)), 0);
    m.map->max_failures = 0;
    return m;
  }
  // The result of a task in one single step, without what a shell would do about it.
  void fail_in_one_step(Hand& hand, Attempt attempt) {
    hand.drop(attempt);
    SyncRequest call = request_of(hand);
    call.reports = {{attempt, Failed{}}};
    send(hand, call);
  }
};

TEST_F(Restart, AMapThatStoppedStaysStoppedThoughItsItemsAreNotYetSkipped) {
  Hand& w = join("w");
  const RunId run = submit({fragile_map()});
  fail_in_one_step(w, take_and_start(w));
  EXPECT_EQ(state_of({run, kItems - 1}), TaskState::kQueued);
  reload();
  EXPECT_TRUE(w.assigned.empty());
  EXPECT_EQ(state_of(run), RunState::kFailed);
  ignore_everything_from_here();
}

TEST_F(Restart, AMapWhoseStopWasLiftedGoesOnWithAllItsItems) {
  Hand& w = join("w", 100);
  NodeSpec m = fragile_map();
  m.map->max_parallel = 1;
  const RunId run = submit({m});
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(state_of({run, kItems - 1}), TaskState::kSkipped);
  raw(RetryTask{{}, {run, 0}, std::make_shared<const RunImage>(mirror.run_image(run))});
  reload();
  while (!w.held.empty()) complete(w, w.held.front().attempt);
  w.assigned.clear();
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  for (const TaskRow& task : mirror.tasks_of(run)) EXPECT_EQ(task.state, TaskState::kCompleted);
}

TEST_F(Restart, AnOldCallThatArrivesUnderANewLeaderTakesNothingAway) {
  Hand& w = join("w");
  SyncRequest delayed = request_of(w);  // sent before it held anything, still on the way
  delayed.held.emplace();
  ++w.seq;
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  hush(w);
  reload();
  raw(Sync{{}, delayed});
  EXPECT_EQ(state_of({run, 0}), TaskState::kRunning);
  w.silent = false;
  step(Tick{});
  EXPECT_TRUE(w.stale.empty());
  complete(w, a);
  ignore_everything_from_here();
}

TEST_F(Restart, WhatIsReallyGoneIsFoundByTheNewLeaderToo) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  w.drop(a);
  reload();
  advance(policy.heartbeat_interval * 2);
  EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kLostInTransit);
  complete(w, take_assignment(w));
}

TEST_F(Restart, TimesThatPeopleReadStayTrueOverPausesAndRestarts) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Instant granted = now;
  const Attempt a = take_assignment(w);
  vanish(seconds(20));
  step(Tick{});
  const Instant started = now;
  start(w, a);
  vanish(seconds(20));
  w.show(a, {40, "half"});
  advance(policy.heartbeat_interval);
  EXPECT_EQ(row(a.task).started_at, started);
  reload();
  w.show(a, {50, "more"});
  advance(policy.heartbeat_interval);
  EXPECT_EQ(row(a.task).granted_at, granted);
  complete(w, a);
  EXPECT_EQ(mirror.attempts.at(a).granted_at, granted);
  EXPECT_EQ(mirror.attempts.at(a).started_at, started);
  EXPECT_EQ(row(TaskId{run, 0}).started_at, started);
}

class Patience : public LifeTest {
 protected:
  Patience() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kRunPaused,
            EventKind::kRunResumed});
  }
};

TEST_F(Patience, AStoppedMapEndsThoughARetryOfItIsDueAndNoWorkerIsLeft) {
  Hand& w = join("w", 2);
  NodeSpec m = with_retries(mapped("m", range(1, 2)), 1);
  m.retry->unless_exit = {42};
  m.map->max_failures = 0;
  const RunId run = submit({m});
  const Attempt first = take_and_start(w);
  const Attempt second = take_and_start(w);
  fail(w, first, 42);
  fail(w, second);  // it would be tried again, but its map has stopped
  kill(w);
  advance(seconds(10));
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Patience, A03_AnItemParkedByItsOwnMapDoesNotWaitForTheWorker) {
  Hand& w = join("w", 4);
  NodeSpec m = mapped("m", range(1, 3));
  m.map->max_parallel = 1;
  m.requirements.worker = w.id();
  const RunId run = submit({m});
  for (int i = 0; i < 3; ++i) {
    const Attempt a = take_and_start(w);
    advance(seconds(200));
    complete(w, a);
  }
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  ignore_everything_from_here();
}

TEST_F(Patience, A03_ATaskOfAPausedRunDoesNotWaitForTheWorker) {
  NodeSpec spec = node("a");
  spec.requirements.worker = WorkerId("w");
  const RunId run = submit({spec});
  ask_done(PauseRun{{}, run, true});
  advance(policy.worker_queue_ttl * 2);
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  ask_done(PauseRun{{}, run, false});
  Hand& w = join("w");
  complete(w, take_assignment(w));
}

}  // namespace
}  // namespace vortex::core
