// What operators do to runs: cancel, pause, resume, and what they do to what already ended.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Operators : public LifeTest {
 protected:
  Operators() {
    ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled, EventKind::kRunPaused,
            EventKind::kRunResumed, EventKind::kTaskFailed, EventKind::kTaskDeadLettered});
  }
  void obey(Hand& hand) { end(hand, take_stop(hand).attempt, Released{Released::Cause::kStopped}); }
  std::shared_ptr<const RunImage> image(RunId run) {
    return std::make_shared<const RunImage>(mirror.run_image(run));
  }
  const DeadLetterRow& only_letter() {
    EXPECT_EQ(mirror.dead_letters.size(), 1u);
    return mirror.dead_letters.begin()->second;
  }
};

TEST_F(Operators, CancelEndsWhatNobodyHoldsAndAsksForTheRest) {
  Hand& w = join("w");
  const RunId run = submit({node("a"), node("b"), node("c", {"a"})});
  take_and_start(w);
  ask_done(CancelRun{{}, run});
  EXPECT_EQ(state_of({run, 0}), TaskState::kRunning);
  EXPECT_EQ(row(TaskId{run, 0}).stop, StopReason::kCancel);
  EXPECT_EQ(state_of({run, 1}), TaskState::kCancelled);
  EXPECT_EQ(state_of({run, 2}), TaskState::kCancelled);
  ask_done(CancelRun{{}, run});  // again: harmless
  obey(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Operators, AfterACancelNoSuccessIsAccepted) {
  Hand& w = join("w");
  const RunId run = submit({node("a"), node("b", {"a"})});
  const Attempt a = take_and_start(w);
  ask_done(CancelRun{{}, run});
  take_stop(w);
  complete(w, a, R"({"rows":1})");
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
  EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kCancelled);
  EXPECT_FALSE(mirror.data.contains(a.task)) << "the outputs of a result that does not count";
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Operators, CancelBeatsRecovery) {
  Hand& w = join("w");
  ignore_comings_and_goings();
  const RunId run = submit({node("a")});
  take_and_start(w);
  ask_done(CancelRun{{}, run});
  take_stop(w);
  kill(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  EXPECT_EQ(count(EventKind::kTaskRequeued), 0u);
}

TEST_F(Operators, ACancelThatNobodyConfirmsEndsWithTheLease) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  ask_done(CancelRun{{}, run});
  advance(policy.worker_lease + policy.heartbeat_interval);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  w.stops.clear();
  EXPECT_EQ(take_stale(w), a);
}

TEST_F(Operators, ACancelOutranksAnEarlierStop) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.stale_after = seconds(60);
  const RunId run = submit({spec});
  take_and_start(w);
  advance(seconds(60));
  EXPECT_EQ(take_stop(w).why, StopOrder::Why::kStale);
  ask_done(CancelRun{{}, run});
  w.stops.clear();
  advance(policy.heartbeat_interval);
  obey(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
}

TEST_F(Operators, ACancelOfOneTaskOutranksAStopThatWouldHaveTriedAgain) {
  Hand& w = join("w");
  NodeSpec spec = with_retries(node("a"), 3);
  spec.stale_after = seconds(60);
  const RunId run = submit({spec});
  take_and_start(w);
  advance(seconds(60));
  EXPECT_EQ(take_stop(w).why, StopOrder::Why::kStale);
  ask_done(CancelTask{{}, {run, 0}});
  EXPECT_EQ(row(TaskId{run, 0}).stop, StopReason::kCancel);
  w.stops.clear();
  advance(policy.heartbeat_interval);
  obey(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
}

TEST_F(Operators, ACancelThatIsRepeatedAsksNobodyAgain) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  take_and_start(w);
  ask_done(CancelTask{{}, {run, 0}});
  take_stop(w);
  const Effects again = raw(CancelTask{{77}, {run, 0}});
  take_reply<Done>();
  EXPECT_EQ(again.replies.size(), 1u) << "only the operator is answered";
  EXPECT_TRUE(again.rows.tasks.empty());
  end(w, {{run, 0}, row(TaskId{run, 0}).epoch}, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
}

TEST_F(Operators, ATaskThatNoAnswerHasCarriedIsCancelledAtOnce) {
  Hand& w = join("w");
  hush(w);
  const RunId run = submit({node("a")});
  const Attempt a{{run, 0}, {1}};
  raw(Unsent{{}, w.id(), {state->term, w.ack.reply + 1}, {}, {a}});  // it was too full for it
  raw(CancelTask{{77}, a.task});
  take_reply<Done>();
  EXPECT_EQ(state_of(a.task), TaskState::kCancelled);
  EXPECT_NE(state_of(run), RunState::kRunning);
  EXPECT_TRUE(w.stops.empty());
}

TEST_F(Operators, APauseAndItsEndAreToldOnceEach) {
  const RunId run = submit({node("a")});
  ask_done(PauseRun{{}, run, true});
  ask_done(PauseRun{{}, run, true});
  EXPECT_EQ(take_all(EventKind::kRunPaused).size(), 1u);
  EXPECT_EQ(count(EventKind::kRunResumed), 0u);
  ask_done(PauseRun{{}, run, false});
  EXPECT_EQ(take_all(EventKind::kRunResumed).size(), 1u);
  EXPECT_EQ(count(EventKind::kRunPaused), 0u);
}

TEST_F(Operators, OneTaskCanBeCancelledWithoutItsRun) {
  Hand& w = join("w", 2);
  const RunId run = submit({node("a"), node("b"), node("c", {"a"})});
  take_and_start(w);
  const Attempt b = take_and_start(w);
  ask_done(CancelTask{{}, {run, 0}});
  obey(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  complete(w, b);
  EXPECT_NE(state_of(run), RunState::kRunning);
}

TEST_F(Operators, APausedRunStartsNothingAndLosesNothing) {
  Hand& w = join("w", 4);
  NodeSpec m = mapped("m", range(1, 4));
  m.map->max_parallel = 2;
  const RunId run = submit({m, node("after", {"m"})});
  const Attempt first = take_and_start(w);
  const Attempt second = take_and_start(w);
  ask_done(PauseRun{{}, run, true});
  EXPECT_TRUE(row(run).paused);
  complete(w, first);
  advance(seconds(20));
  EXPECT_TRUE(w.assigned.empty());
  ask_done(PauseRun{{}, run, false});
  complete(w, take_assignment(w));
  complete(w, second);
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, APauseHoldsThroughABackoffAndANewLeader) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 1)});
  fail(w, take_assignment(w));
  take(EventKind::kTaskRequeued);
  ask_done(PauseRun{{}, run, true});
  advance(seconds(5));
  EXPECT_TRUE(w.assigned.empty());
  reload();
  EXPECT_TRUE(w.assigned.empty());
  ask_done(PauseRun{{}, run, false});
  complete(w, take_assignment(w));
  take(EventKind::kTaskReassigned);
}

TEST_F(Operators, APausedRunCanBeCancelled) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  ask_done(PauseRun{{}, run, true});
  const RunId queued = submit({node("b")});
  ask_done(PauseRun{{}, queued, true});
  ask_done(CancelRun{{}, queued});
  EXPECT_EQ(state_of(queued), RunState::kCancelled);
  complete(w, a);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, RetryRunsAFailedTaskAgainAndUnskipsWhatFollows) {
  Hand& w = join("w", 4);
  const RunId run =
      submit({with_retries(node("a"), 0), node("b", {"a"}), node("c", {"b"}), node("slow")});
  const Attempt a = take_and_start(w);
  const Attempt slow = take_and_start(w);
  fail(w, a);
  ask_done(RetryTask{{}, {run, 0}, nullptr});
  EXPECT_EQ(number(take(EventKind::kTaskRetry), "epoch"), 2);
  EXPECT_EQ(state_of({run, 1}), TaskState::kWaiting);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  const Attempt again = take_assignment(w);
  EXPECT_EQ(again.epoch, (Epoch{2}));
  EXPECT_EQ(row(TaskId{run, 0}).counters.failures, 0u);
  complete(w, again);
  EXPECT_EQ(mirror.attempts.at(a).number, 1u);
  EXPECT_EQ(mirror.attempts.at(again).number, 2u) << "a number names one attempt for ever";
  EXPECT_EQ(row(TaskId{run, 0}).percent, 100u);
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  complete(w, slow);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(only_letter().state, DeadLetterState::kRedriven);
}

TEST_F(Operators, RetryOfAFinishedRunBringsItBackFromItsRows) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("ok"), with_retries(node("a", {"ok"}), 0), node("b", {"a"})});
  complete(w, take_assignment(w));
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(ask_in_vain(RetryTask{{}, {run, 1}, nullptr}), RefusalKind::kRunNotLive);
  ask_done(RetryTask{{}, {run, 1}, image(run)});
  take(EventKind::kTaskRetry);
  EXPECT_EQ(state_of(run), RunState::kRunning);
  const Attempt again = take_assignment(w);
  EXPECT_EQ(again.task, (TaskId{run, 1}));
  complete(w, again);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(mirror.attempts_of({run, 0}).size(), 1u);  // what was complete did not run again
}

TEST_F(Operators, WhatIsSkippedForAnotherReasonTooStaysSkippedUntilThatIsRetriedAsWell) {
  Hand& w = join("w", 4);
  const RunId run =
      submit({with_retries(node("a"), 0), with_retries(node("b"), 0), node("c", {"a", "b"})});
  fail(w, take_assignment(w));
  fail(w, take_assignment(w));
  ask_done(RetryTask{{}, {run, 0}, image(run)});
  take(EventKind::kTaskRetry);
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  ask_done(RetryTask{{}, {run, 1}, image(run)});
  take(EventKind::kTaskRetry);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  for (int i = 0; i < 3; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, WhatWaitsBehindABarrierIsJudgedAnewWhenARetryOpensWhatItNeeds) {
  Hand& w = join("w", 4);
  NodeSpec c = node("c", {"a"});
  c.trigger = TriggerRule::kOneFailed;
  DagSpec spec = dag({with_retries(node("a"), 0), node("b"), c});
  spec.barrier_levels = true;
  const RunId run = submit(spec);
  const Attempt a = take_assignment(w);
  const Attempt b = take_assignment(w);
  fail(w, a);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  ask_done(RetryTask{{}, {run, 0}, {}});
  take(EventKind::kTaskRetry);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  complete(w, b);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, ALevelThatARetryOpenedIsAnnouncedAgainAlsoAfterAFailover) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0), node("b", {"a"})});
  fail(w, take_assignment(w));
  EXPECT_EQ(take_all(EventKind::kLevelComplete).size(), 2u);
  ask_done(RetryTask{{}, {run, 0}, image(run)});
  take(EventKind::kTaskRetry);
  for (int i = 0; i < 2; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(take_all(EventKind::kLevelComplete).size(), 2u);
}

TEST_F(Operators, RetryInAStoppedMapLetsTheMapGoOn) {
  Hand& w = join("w");
  NodeSpec m = with_retries(mapped("m", range(1, 4)), 0);
  m.map->max_failures = 0;
  m.map->max_parallel = 1;
  const RunId run = submit({m});
  complete(w, take_assignment(w));
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(state_of({run, 3}), TaskState::kSkipped);
  ask_done(RetryTask{{}, {run, 1}, image(run)});
  take(EventKind::kTaskRetry);
  for (int i = 0; i < 3; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, RetryBehindABarrierClosesItAgain) {
  Hand& w = join("w", 4);
  NodeSpec after = node("after", {"a"});
  after.trigger = TriggerRule::kAllDone;
  DagSpec spec = dag({with_retries(node("a"), 0), after, node("later", {"after"})});
  spec.barrier_levels = true;
  const RunId run = submit(spec);
  fail(w, take_assignment(w));
  const Attempt second = take_assignment(w);
  ask_done(RetryTask{{}, {run, 0}, nullptr});
  take(EventKind::kTaskRetry);
  complete(w, second);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, A03_ADeadLetterIsRedrivenOnce) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0)});
  fail(w, take_assignment(w));
  EXPECT_EQ(only_letter().state, DeadLetterState::kOpen);
  ask_done(RedriveDeadLetter{{}, {run, 0}, image(run)});
  take(EventKind::kTaskRedriven);
  EXPECT_EQ(only_letter().state, DeadLetterState::kRedriven);
  EXPECT_EQ(ask_in_vain(RedriveDeadLetter{{}, {run, 0}, image(run)}), RefusalKind::kNoDeadLetter);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, A03_ADiscardedLetterIsGoneAndItsTaskStaysFailed) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0)});
  fail(w, take_assignment(w));
  ask_done(DiscardDeadLetter{{}, {run, 0}});
  take(EventKind::kTaskDiscarded);
  EXPECT_EQ(only_letter().state, DeadLetterState::kDiscarded);
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(ask_in_vain(DiscardDeadLetter{{}, {run, 0}}), RefusalKind::kNoDeadLetter);
}

TEST_F(Operators, A03_AClosedLetterStillSaysWhatHappened) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0)});
  fail(w, take_assignment(w));
  EXPECT_EQ(only_letter().message, "boom");
  ask_done(DiscardDeadLetter{{}, {run, 0}});
  take(EventKind::kTaskDiscarded);
  EXPECT_EQ(only_letter().message, "boom");
}

TEST_F(Operators, A03_LettersOutliveARestart) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0)});
  fail(w, take_assignment(w));
  reload();
  ask_done(RedriveDeadLetter{{}, {run, 0}, image(run)});
  take(EventKind::kTaskRedriven);
  complete(w, take_assignment(w));
}

TEST_F(Operators, ARevivedRunIsNotTimedOutByTheClockOfItsFirstLife) {
  Hand& w = join("w");
  DagSpec spec = dag({with_retries(node("a"), 0)});
  spec.run_timeout = seconds(100);
  const RunId run = submit(spec);
  fail(w, take_assignment(w));
  advance(seconds(200));
  ask_done(RetryTask{{}, {run, 0}, image(run)});
  take(EventKind::kTaskRetry);
  const Attempt again = take_and_start(w);
  reload();
  advance(seconds(2));
  EXPECT_TRUE(w.stops.empty());
  w.stops.clear();
  complete(w, again);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Operators, ANewRunIsAnsweredAsItsCommitMakesIt) {
  SubmitRun submit;
  submit.dag = dag({node("a"), node("b"), node("c", {"a"})});
  submit.labels = {{"team", "x"}};
  submit.idempotency_key = "key";
  const auto accepted = ask<RunAccepted>(submit);
  ASSERT_NE(accepted.row, nullptr);
  const RunRow& committed = row(accepted.run);
  EXPECT_EQ(accepted.row->id, accepted.run);
  EXPECT_EQ(accepted.row->made, committed.made);
  EXPECT_EQ(accepted.row->made[number_of(TaskState::kQueued)], 2u);
  EXPECT_EQ(accepted.row->created_at, committed.created_at);
  EXPECT_EQ(accepted.row->request->labels, submit.labels);
  EXPECT_EQ(ask<RunAccepted>(submit).row, nullptr);  // may have come far since then
}

TEST_F(Operators, OneKeyIsOneRun) {
  SubmitRun first;
  first.dag = dag({node("a")});
  first.idempotency_key = "key";
  const RunId run = ask<RunAccepted>(first).run;
  const auto again = ask<RunAccepted>(first);
  EXPECT_EQ(again.run, run);
  EXPECT_TRUE(again.existed);
  reload();
  EXPECT_EQ(ask<RunAccepted>(first).run, run);
  SubmitRun other = first;
  other.params = "{}";
  EXPECT_EQ(ask_in_vain(other), RefusalKind::kKeyReused);
  step(ForgetRun{run, "key"});  // it is live: the key stays
  EXPECT_EQ(ask<RunAccepted>(first).run, run);
  ask_done(CancelRun{{}, run});
  EXPECT_EQ(ask<RunAccepted>(first).run, run);
  forget_run(run);
  step(ForgetRun{run, "key"});
  const RunId second = ask<RunAccepted>(first).run;
  EXPECT_NE(second, run);
  ask_done(CancelRun{{}, second});
  step(ForgetRun{run, "key"});  // told twice: the key is another's by now
  EXPECT_EQ(ask<RunAccepted>(first).run, second);
}

TEST_F(Operators, AForgottenRunLeavesNoDeadLetter) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0)});
  const RunId other = submit({with_retries(node("a"), 0)});
  fail(w, take_assignment(w));
  fail(w, take_assignment(w));
  ASSERT_EQ(state->dead_letters.size(), 2u);
  forget_run(run);
  step(ForgetRun{run, ""});
  EXPECT_EQ(ask_in_vain(DiscardDeadLetter{{}, {run, 0}}), RefusalKind::kNoDeadLetter);
  EXPECT_EQ(ask_in_vain(RedriveDeadLetter{{}, {run, 0}, {}}), RefusalKind::kNoDeadLetter);
  ask_done(DiscardDeadLetter{{}, {other, 0}});
  take(EventKind::kTaskDiscarded);
}

TEST_F(Operators, ACancelIsDurableBeforeItIsAnsweredAndANewLeaderGoesOnWithIt) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  take_and_start(w);
  raw(CancelRun{{77}, run});
  EXPECT_EQ(row(run).ending, RunEnding::kCancelled);
  take_reply<Done>();
  reload();
  obey(w);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Operators, ATaskBeyondTheLastOneIsUnknown) {
  const RunId run = submit({node("a"), node("b")});
  EXPECT_EQ(ask_in_vain(CancelTask{{}, {run, 2}}), RefusalKind::kUnknownTask);
  EXPECT_EQ(ask_in_vain(CancelTask{{}, {run, 99}}), RefusalKind::kUnknownTask);
}

}  // namespace
}  // namespace vortex::core
