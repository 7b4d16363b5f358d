// Nothing is stuck for ever: not started, running too long, without progress, or waiting in vain.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

TEST(TimeoutChecks, A01_DeadlinesAreCheckedAsOftenAsTheTimeoutCheckSays) {
  Settings settings = default_settings();
  settings.controller.sweep_interval = seconds(5);
  settings.controller.timeout_check_interval = seconds(2);
  EXPECT_EQ(make_policy(settings).sweep, seconds(2));
  settings.controller.timeout_check_interval = seconds(60);
  EXPECT_EQ(make_policy(settings).sweep, seconds(5));
}

class Timeouts : public LifeTest {
 protected:
  Timeouts() { ignore({EventKind::kTaskRequeued, EventKind::kTaskReassigned}); }

  // The worker obeys: nothing of the attempt is left.
  void obey(Hand& hand, StopOrder::Why why) {
    const StopOrder stop = take_stop(hand);
    EXPECT_EQ(stop.why, why);
    end(hand, stop.attempt, Released{Released::Cause::kStopped});
  }
  TaskCounters counters(RunId run) { return row(TaskId{run, 0}).counters; }
};

TEST_F(Timeouts, A01_ATaskHandedOutButNotStartedLeavesItsWorker) {
  Hand& slow = join("slow");
  const RunId run = submit({node("a")});
  take_assignment(slow);
  Hand& other = join("other");
  advance(policy.scheduled_timeout - millis(1));
  EXPECT_TRUE(slow.stops.empty());
  advance(millis(1));
  obey(slow, StopOrder::Why::kNotStartedInTime);
  EXPECT_EQ(text(take(EventKind::kTaskTimeout), "clock"), to_text(Verdict::kNotStartedInTime));
  EXPECT_EQ(counters(run).unstarted, 1u);
  EXPECT_EQ(counters(run).failures + counters(run).crashes + counters(run).stalls, 0u);
  advance(seconds(2));
  complete(other, take_assignment(other));
}

TEST_F(Timeouts, A01_AfterTheLastAllowedTryItFailsWithAnErrorThatSaysSo) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  for (int i = 0; i < policy.never_started_limit; ++i) {
    if (i > 0) {
      EXPECT_TRUE(w.assigned.empty()) << "no backoff before try " << i + 1;
      advance(seconds(2) * i);
    }
    take_assignment(w);
    advance(policy.scheduled_timeout);
    obey(w, StopOrder::Why::kNotStartedInTime);
  }
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(row(TaskId{run, 0}).error_message,
            "timed out: worker 'w' did not start it within 300 s (scheduled_timeout)");
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(take_all(EventKind::kTaskTimeout).size(), 3u);
  const Event dead = take(EventKind::kTaskDeadLettered);
  EXPECT_EQ(text(dead, "reason"), to_text(DeathReason::kNeverStarted));
  EXPECT_EQ(dead.severity, Severity::kError);
}

TEST_F(Timeouts, A01_TheNodesOwnLimitCounts) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.scheduled_timeout = seconds(70);
  submit({spec});
  take_assignment(w);
  advance(seconds(70));
  obey(w, StopOrder::Why::kNotStartedInTime);
  take(EventKind::kTaskTimeout);
  advance(seconds(2));
  complete(w, take_assignment(w));
}

// It is told to give the attempt back, says nothing, and does not name it any more.
TEST_F(Timeouts, A01_AnAttemptThatIsDroppedWhenToldToStopIsCountedAsNotStarted) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  for (int i = 1; i <= policy.never_started_limit; ++i) {
    const Attempt a = take_assignment(w);
    advance(policy.scheduled_timeout);
    EXPECT_EQ(take_stop(w).attempt, a);
    w.drop(a);
    advance(policy.heartbeat_interval);
    w.stops.clear();
    EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kNotStartedInTime);
    EXPECT_EQ(counters(run).unstarted, i);
    advance(seconds(10));
  }
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(take_all(EventKind::kTaskTimeout).size(), 3u);
  EXPECT_EQ(text(take(EventKind::kTaskDeadLettered), "reason"), "never_started");
}

TEST_F(Timeouts, A01_WhateverItCallsItAnAttemptGoneAfterTheStopIsStopped) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  using enum Released::Cause;
  for (const auto cause : {kSelfFenced, kNotStarted, kDrained}) {
    const Attempt a = take_assignment(w);
    advance(policy.scheduled_timeout);
    take_stop(w);
    end(w, a, Released{cause});
    advance(seconds(10));
  }
  EXPECT_EQ(counters(run).unstarted, 3u);
  EXPECT_EQ(take_all(EventKind::kTaskTimeout).size(), 3u);
  take(EventKind::kTaskDeadLettered);
}

TEST_F(Timeouts, A01_AWorkerThatDropsWithoutBeingAskedCannotSendATaskRoundForEver) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  int rounds = 0;
  for (; rounds < 500 && state_of(run) == RunState::kRunning; ++rounds) {
    w.drop(take_assignment(w));
    advance(policy.heartbeat_interval * 2);
    if (rounds < 3) continue;
    advance(policy.retry.backoff.max_delay);  // from here on it waits between the tries
  }
  EXPECT_EQ(rounds, policy.release_limit);
  EXPECT_EQ(row(TaskId{run, 0}).error_message,
            "released 100 times without a result; last by 'w' (lost_in_transit)");
  EXPECT_EQ(text(take(EventKind::kTaskDeadLettered), "reason"), "release_limit");
}

TEST_F(Timeouts, A01_AWorkerThatHandsBackForEverCannotEither) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  using enum Released::Cause;
  int rounds = 0;
  for (; rounds < 500 && state_of(run) == RunState::kRunning; ++rounds) {
    const auto cause = rounds % 3 == 0 ? kSelfFenced : rounds % 3 == 1 ? kNotStarted : kDrained;
    end(w, take_assignment(w), Released{cause});
    advance(policy.retry.backoff.max_delay);
  }
  EXPECT_EQ(rounds, policy.release_limit);
  take(EventKind::kTaskDeadLettered);
}

TEST_F(Timeouts, A01_WhatADrainingWorkerGivesBackIsNeverHeldAgainstTheTask) {
  policy.release_limit = 3;
  state->policy.release_limit = 3;
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerDraining});
  const RunId run = submit({node("a")});
  for (int i = 0; i < 10; ++i) {
    Hand& w = join("w" + std::to_string(i));
    const Attempt a = take_and_start(w);
    w.leaving = Leaving::kDraining;
    end(w, a, Released{Released::Cause::kDrained});
    hush(w);
  }
  EXPECT_EQ(counters(run).releases, 10u);
  Hand& last = join("last");
  complete(last, take_assignment(last));
}

TEST_F(Timeouts, A08_HowLateATimeoutWasActedOnIsMeasuredInTrueTime) {
  Hand& w = join("w");
  submit({node("a")});
  take_assignment(w);
  advance(policy.scheduled_timeout - seconds(1));
  vanish(seconds(20));  // the controller itself is away
  advance(seconds(2));
  obey(w, StopOrder::Why::kNotStartedInTime);
  const auto late = measured(Sample::Kind::kTimeoutLateness, "not_started");
  ASSERT_EQ(late.size(), 1u);
  EXPECT_GE(late.front(), seconds(19));
  EXPECT_LE(late.front(), seconds(21));
  take(EventKind::kTaskTimeout);
  advance(seconds(2));
  const Attempt again = take_and_start(w);
  advance(policy.execution_timeout + millis(300));
  end(w, again, TimedOut{});
  EXPECT_EQ(measured(Sample::Kind::kTimeoutLateness, "execution"),
            std::vector<Duration>{millis(300)});
  ignore_everything_from_here();
}

TEST_F(Timeouts, AStopThatNobodyConfirmsIsTakenAsDoneAfterAFullLease) {
  Hand& deaf = join("deaf");
  const RunId run = submit({node("a")});
  const Attempt first = take_assignment(deaf);
  advance(policy.scheduled_timeout);
  EXPECT_EQ(take_stop(deaf).attempt, first);
  Hand& other = join("other");
  advance(policy.worker_lease - millis(1));
  EXPECT_TRUE(other.assigned.empty());
  EXPECT_EQ(row(TaskId{run, 0}).stop, StopReason::kNotStarted);
  advance(policy.heartbeat_interval);
  EXPECT_EQ(take_stale(deaf), first);
  deaf.stops.clear();  // it was repeated all the while
  take(EventKind::kTaskTimeout);
  complete(other, take_assignment(other));
}

TEST_F(Timeouts, AStartThatIsReportedJustInTimeIsNotUndone) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_assignment(w);
  advance(policy.scheduled_timeout - seconds(1));
  start(w, a);
  advance(seconds(60));
  EXPECT_TRUE(w.stops.empty());
  complete(w, a);
}

TEST_F(Timeouts, TheWorkersExecutionTimeoutIsAStallNotAFailure) {
  Hand& w = join("w");
  NodeSpec spec = with_retries(node("a"), 1);
  spec.execution_timeout = seconds(60);
  const RunId run = submit({spec});
  EXPECT_EQ(w.assigned.front().execution_timeout, seconds(60));
  const Attempt a = take_and_start(w);
  advance(seconds(60));
  end(w, a, TimedOut{});
  EXPECT_EQ(counters(run).stalls, 1u);
  EXPECT_EQ(counters(run).failures, 0u);
  EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kExecutionTimeout);
  advance(seconds(2));
  end(w, take_and_start(w), TimedOut{});
  EXPECT_EQ(text(take(EventKind::kTaskDeadLettered), "reason"), to_text(DeathReason::kStallLimit));
  EXPECT_EQ(take_all(EventKind::kTaskTimeout).size(), 2u);
}

TEST_F(Timeouts, TheControllerStepsInWhenTheWorkersClockDidNot) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.execution_timeout = seconds(60);
  const RunId run = submit({spec});
  take_and_start(w);
  const Duration backstop = seconds(60) + policy.kill_time + policy.heartbeat_interval * 2;
  advance(backstop - millis(1));
  EXPECT_TRUE(w.stops.empty());
  advance(millis(1));
  obey(w, StopOrder::Why::kExecutionTimeout);
  EXPECT_EQ(counters(run).stalls, 1u);
  take(EventKind::kTaskTimeout);
  advance(seconds(2));
  complete(w, take_assignment(w));
}

TEST_F(Timeouts, M02_ATaskThatShowedProgressAndStoppedIsTimedOut) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  w.show(a, {10, "loading"});
  advance(policy.heartbeat_interval);
  advance(policy.stale_after - seconds(1));
  EXPECT_TRUE(w.stops.empty());
  advance(policy.heartbeat_interval);
  obey(w, StopOrder::Why::kStale);
  EXPECT_EQ(counters(run).stalls, 1u);
  EXPECT_EQ(text(take(EventKind::kTaskTimeout), "clock"), to_text(Verdict::kStale));
  advance(seconds(2));
  complete(w, take_assignment(w));
}

TEST_F(Timeouts, M02_AnyMovementOfPercentStepOrCheckpointKeepsItAlive) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  w.show(a, {10, "one"});
  advance(seconds(500));
  w.show(a, {10, "two"});
  advance(seconds(500));
  w.show(a, {11, "two"});
  advance(seconds(500));
  report(w, {{a, Checkpoint{"here"}}});
  advance(seconds(500));
  EXPECT_TRUE(w.stops.empty());
  complete(w, a);
}

TEST_F(Timeouts, M02_SilenceOfATaskThatNeverSpeaksSaysNothing) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  advance(minutes(50));
  EXPECT_TRUE(w.stops.empty());
  complete(w, a);
}

TEST_F(Timeouts, M02_WhatAnEarlierAttemptSaidIsNoProgressOfThisOne) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt first = take_and_start(w);
  w.show(first, {10, "loading"});
  advance(policy.heartbeat_interval);
  EXPECT_EQ(row(TaskId{run, 0}).step, "loading");
  end(w, first, Released{Released::Cause::kSelfFenced});
  const Attempt second = take_and_start(w);
  EXPECT_EQ(row(TaskId{run, 0}).step, "");
  reload();
  advance(minutes(50));
  EXPECT_TRUE(w.stops.empty());
  complete(w, second);
}

TEST_F(Timeouts, M02_WhoAsksForAWatchdogIsWatchedFromTheStart) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.stale_after = seconds(60);
  submit({spec});
  take_and_start(w);
  advance(seconds(60));
  obey(w, StopOrder::Why::kStale);
  take(EventKind::kTaskTimeout);
  advance(seconds(2));
  complete(w, take_assignment(w));
}

TEST_F(Timeouts, M02_ATimeoutSetByHandHoldsForTasksThatNeverReportProgress) {
  policy.stale_for_all = state->policy.stale_for_all = true;
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  take_and_start(w);
  advance(policy.stale_after / 2);
  reload();  // and over a restart
  advance(policy.stale_after - seconds(1));
  EXPECT_TRUE(w.stops.empty());
  advance(seconds(1));
  obey(w, StopOrder::Why::kStale);
  EXPECT_EQ(row(TaskId{run, 0}).error_message, "timed out: no progress for 600 s");
  take(EventKind::kTaskTimeout);
  advance(seconds(2));
  complete(w, take_assignment(w));
}

TEST_F(Timeouts, M02_OutputKeepsATaskAliveWhereItCounts) {
  Hand& w = join("w", 2);
  NodeSpec talks = node("talks");
  talks.stale_after = seconds(60);
  talks.stale_counts.output = true;
  NodeSpec strict = talks;
  strict.name = "strict";
  strict.stale_counts.output = false;
  submit({talks, strict});
  const Attempt a = take_and_start(w);
  const Attempt b = take_and_start(w);
  for (std::uint64_t bytes = 1; bytes <= 10; ++bytes) {
    for (HeldTask& task : w.held) task.output_bytes = bytes;
    advance(seconds(20));
  }
  EXPECT_EQ(take_stop(w).attempt, b) << "its output says nothing";
  w.stops.clear();
  end(w, b, Released{Released::Cause::kStopped});
  take(EventKind::kTaskTimeout);
  advance(seconds(30));  // it writes nothing any more
  ignore_everything_from_here();
  EXPECT_TRUE(w.stops.empty());
  advance(seconds(30));
  EXPECT_EQ(take_stop(w).attempt, a);
  w.stops.clear();
  w.assigned.clear();
}

TEST_F(Timeouts, M02_WhereOnlyOutputCountsProgressDoesNot) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.stale_after = seconds(60);
  spec.stale_counts = {.progress = false, .output = true};
  submit({spec});
  const Attempt a = take_and_start(w);
  for (std::uint8_t percent = 1; percent <= 6; ++percent) {
    w.show(a, {percent, "busy"});
    advance(seconds(10));
  }
  obey(w, StopOrder::Why::kStale);
  take(EventKind::kTaskTimeout);
  advance(seconds(2));
  complete(w, take_assignment(w));
}

// Its silence says nothing: it was another attempt that spoke, or what it says does not count.
TEST_F(Timeouts, WhoIsNotWatchedIsNotWatchedAfterAFailoverEither) {
  ignore_everything_from_here();
  const auto is_watched = [this](Attempt attempt) {
    const core::Run& run = state->runs[state->runs.find(attempt.task.run)];
    return std::get<Running>(state->tasks[run.tasks[attempt.task.index]].phase).watched;
  };
  Hand& w = join("w");
  submit({with_retries(node("a"), 1)});
  const Attempt first = take_and_start(w);
  w.show(first, {30, "reading"});
  advance(policy.heartbeat_interval);
  EXPECT_TRUE(is_watched(first));
  fail(w, first);
  advance(seconds(3));
  const Attempt second = take_and_start(w);
  EXPECT_EQ(row(second.task).step, "");
  reload();
  EXPECT_FALSE(is_watched(second));
  complete(w, second);

  NodeSpec writes = node("b");
  writes.stale_counts = {.progress = false, .output = true};
  submit({writes});
  const Attempt third = take_and_start(w);
  w.show(third, {30, "busy"});
  advance(policy.heartbeat_interval);
  reload();
  EXPECT_FALSE(is_watched(third));
}

TEST_F(Timeouts, AResultThatArrivesWhileTheStopIsUnderWayStillCounts) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.stale_after = seconds(60);
  const RunId run = submit({spec});
  const Attempt a = take_and_start(w);
  advance(seconds(60));
  take_stop(w);
  complete(w, a);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(counters(run).stalls, 0u);
}

TEST_F(Timeouts, ARunThatTakesTooLongIsStoppedAndFails) {
  Hand& w = join("w");
  DagSpec spec = dag({node("a"), node("b", {"a"}), node("c")});
  spec.run_timeout = seconds(100);
  const RunId run = submit(spec);
  take_and_start(w);
  advance(seconds(100));
  EXPECT_EQ(text(take(EventKind::kRunCancelRequested), "reason"), "run timeout");
  EXPECT_EQ(state_of({run, 1}), TaskState::kCancelled);
  EXPECT_EQ(state_of({run, 2}), TaskState::kCancelled);
  obey(w, StopOrder::Why::kCancelled);
  EXPECT_EQ(take_all(EventKind::kTaskCancelled).size(), 3u);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(row(run).ending, RunEnding::kTimedOut);
}

TEST_F(Timeouts, A03_WhatWaitsForOneWorkerExpiresIntoTheDeadLetters) {
  NodeSpec spec = node("a");
  spec.requirements.worker = WorkerId("never-comes");
  const RunId run = submit({spec});
  advance(policy.worker_queue_ttl - millis(1));
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  advance(millis(1));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  const Event dead = take(EventKind::kTaskDeadLettered);
  EXPECT_EQ(text(dead, "reason"), to_text(DeathReason::kWorkerQueueExpired));
  EXPECT_NE(text(dead, "message").find("never-comes"), std::string::npos);
  ASSERT_EQ(mirror.dead_letters.size(), 1u);
  EXPECT_EQ(mirror.dead_letters.begin()->second.state, DeadLetterState::kOpen);
}

}  // namespace
}  // namespace vortex::core
