// Leaving on purpose.

#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

using Drain = Harness;

TEST_F(Drain, A02_IsToldAtOnceAndNothingNewIsTaken) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  const auto told = expect_report();
  EXPECT_EQ(told.request.leaving, Leaving::kDraining);
  EXPECT_EQ(told.request.slots, 0u);
  EXPECT_EQ(told.request.wait, Duration{});
  answer(told);
  answer(poll);
  const auto next = expect_poll();
  EXPECT_EQ(next.request.leaving, Leaving::kDraining);
  EXPECT_EQ(next.request.slots, 0u);
  EXPECT_EQ(next.request.held->size(), 1u);
}

TEST_F(Drain, V10_RunningTasksFinishThenTheWorkerSaysGoodbyeAndExits) {
  join();
  run_task(attempt(1));
  run_task(attempt(2));
  feed(DrainRequested{});
  answer(expect_report());
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  answer(expect_report_of<Completed>(attempt(1)));
  feed(ProcessExited{attempt(2), Failed{Failed::Cause::kExitCode, 1, ""}});
  const auto last = expect_report_of<Failed>(attempt(2));
  EXPECT_EQ(last.request.leaving, Leaving::kDraining);
  answer(last);
  const auto goodbye = expect_report();
  EXPECT_EQ(goodbye.request.leaving, Leaving::kGone);
  EXPECT_TRUE(goodbye.request.held.has_value() && goodbye.request.held->empty());
  EXPECT_TRUE(goodbye.request.reports.empty());
  answer(goodbye);
  expect_exit(Exit::How::kDrained);
  feed(Tick{});
  answer(poll);
}

TEST_F(Drain, IdleWorkerLeavesAtOnce) {
  join();
  feed(DrainRequested{});
  answer(expect_report());
  answer(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, AssignmentOnItsWayIsReleasedUnstarted) {
  join();
  feed(DrainRequested{});
  const auto told = expect_report();
  SyncReply given = reply();
  given.seq_seen = poll.request.seq;
  given.assignments.push_back(assignment(attempt(1)));
  answer(poll, given);
  answer(told);
  answer(expect_release_of(attempt(1), Released::Cause::kDrained));
  answer(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, TaskHeldBackAfterAGapIsReleasedUnstarted) {
  join();
  vanish(kBeat * 3);
  SyncReply old = reply();
  old.assignments.push_back(assignment(attempt(1)));
  answer(poll, old);
  const auto check = expect_report();
  feed(DrainRequested{});
  answer(check);
  expect_release_of(attempt(1), Released::Cause::kDrained);
}

TEST_F(Drain, ProcessThatIsBeingStartedFinishes) {
  join();
  assign(attempt(1));
  feed(DrainRequested{});
  answer(expect_report());
  feed(ProcessStarted{attempt(1)});
  answer(expect_report_of<Started>(attempt(1)));
}

TEST_F(Drain, ReleaseNowKillsWhatRunsAndReportsItReleased) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  answer(expect_report());
  feed(ReleaseNow{});
  expect_kill(attempt(1), KillWhy::kDrained);
  feed(ProcessExited{attempt(1), Killed{}});
  answer(expect_release_of(attempt(1), Released::Cause::kDrained));
  answer(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, ReleaseNowAloneIsADrainInAHurry) {
  join();
  run_task(attempt(1));
  feed(ReleaseNow{});
  expect_kill(attempt(1), KillWhy::kDrained);
  EXPECT_EQ(expect_report().request.leaving, Leaving::kDraining);
}

TEST_F(Drain, NoticeIsRepeatedUntilTheControllerHasIt) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  fail(expect_report());
  advance(kBackoffBase);
  const auto again = expect_report();
  EXPECT_EQ(again.request.leaving, Leaving::kDraining);
  answer(again);
  expect_nothing();
}

TEST_F(Drain, AnswerToACallSentBeforeTheDrainDoesNotCountAsTold) {
  join();
  run_task(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "half"});
  const auto before = expect_report_of<Checkpoint>(attempt(1));
  feed(DrainRequested{});
  answer(before);
  EXPECT_EQ(expect_report().request.leaving, Leaving::kDraining);
}

TEST_F(Drain, A02_IdleWorkerWhoseControllerIsGoneLeavesAtOnce) {
  join();
  fail(poll);
  expect_nothing();
  feed(DrainRequested{});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, A02_IdleWorkerLeavesWithTheFirstCallThatFails) {
  join();
  feed(DrainRequested{});
  fail(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, A02_IdleWorkerDoesNotWaitForACallThatNobodyAnswers) {
  join();
  feed(DrainRequested{});
  expect_report();
  advance(kGoodbyeLongest - micros(1));
  expect_nothing();
  advance(micros(1));
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, A02_RegisterThatNobodyAnswersDoesNotHoldALeavingWorker) {
  feed(Start{});
  expect<SendRegister>();
  feed(DrainRequested{});
  advance(kGoodbyeLongest);
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, OneOfSeveralControllersThatIsGoneIsNoReasonToLeaveUnheard) {
  AgentConfig config = test_config();
  config.controllers = 2;
  agent = Agent(config);
  join();
  feed(DrainRequested{});
  fail(expect_report());
  advance(kBackoffBase);
  answer(expect_report());
  answer(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, UndeliveredResultKeepsADrainingWorkerUntilItsLimit) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  const Instant limit = now + test_config().shutdown_timeout;
  answer(expect_report());
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  while (now < limit + kLastWordsLongest - micros(1)) {
    while (!out.empty()) fail(expect_report_of<Completed>(attempt(1)));
    now = std::min(limit + kLastWordsLongest - micros(1), agent.next_wake());
    feed(Tick{});
  }
  while (!out.empty()) fail(expect_report_of<Completed>(attempt(1)));
  advance(micros(1));
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, A02_WhatRunsAtTheLimitIsReleased) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  answer(expect_report());
  const Instant limit = now + test_config().shutdown_timeout;
  while (now < limit - micros(1)) {
    answer(poll);
    poll = expect_poll();
    now = std::min(limit - micros(1), agent.next_wake());
  }
  feed(Tick{});
  expect_nothing();
  EXPECT_LE(agent.next_wake(), limit);
  advance(micros(1));
  expect_kill(attempt(1), KillWhy::kDrained);
  feed(ProcessExited{attempt(1), Killed{}});
  answer(expect_release_of(attempt(1), Released::Cause::kDrained));
  answer(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, A02_OperatorsDeadlineReplacesALongerLimit) {
  join();
  run_task(attempt(1));
  SyncReply order = reply();
  order.drain = true;
  order.drain_within = seconds(2);
  answer(poll, order);
  answer(expect_report());
  poll = expect_poll();
  // Said again with every answer: the first one counts.
  advance(seconds(1));
  order = reply();
  order.drain = true;
  order.drain_within = seconds(2);
  answer(poll, order);
  poll = expect_poll();
  advance(seconds(1));
  expect_kill(attempt(1), KillWhy::kDrained);
}

TEST_F(Drain, A02_OperatorsDrainHasTheLimitOfASignal) {
  join();
  run_task(attempt(1));
  SyncReply order = reply();
  order.drain = true;
  answer(poll, order);
  answer(expect_report());
  poll = expect_poll();
  EXPECT_GT(agent.next_wake(), now);
  now = now + test_config().shutdown_timeout;
  feed(Tick{});
  expect_kill(attempt(1), KillWhy::kDrained);
  while (!out.empty()) out.pop_front();
}

TEST_F(Drain, SessionThatEndsDuringADrainIsNotRenewed) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  refuse(expect_report(), SyncRefusal::Why::kSessionEnded);
  expect_hang_up(poll);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  feed(ProcessExited{attempt(1), Killed{}});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, WorkerThatNobodyKnowsYetJustExits) {
  feed(DrainRequested{});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, WorkerBetweenTwoTriesToRegisterJustExits) {
  feed(Start{});
  feed(CallFailed{expect<SendRegister>().call, {}, {}});
  feed(DrainRequested{});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, RegisterInFlightIsAwaitedBecauseItMayHaveMadeTheWorkerKnown) {
  feed(Start{});
  const auto sent = expect<SendRegister>();
  feed(DrainRequested{});
  expect_nothing();
  accept(sent);
  const auto told = expect_report();
  EXPECT_EQ(told.request.leaving, Leaving::kDraining);
  answer(told);
  answer(expect_report());
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, RegisterThatFailsDuringADrainIsNotRepeated) {
  feed(Start{});
  const auto sent = expect<SendRegister>();
  feed(DrainRequested{});
  feed(CallFailed{sent.call, {}, {}});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, RegisterThatIsRefusedDuringADrainIsNotRepeated) {
  feed(Start{});
  const auto sent = expect<SendRegister>();
  feed(DrainRequested{});
  feed(RegisterAnswer{sent.call, RegisterRefused{Incarnation{20}}});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, A02_OperatorsShortDeadlineReplacesTheLimitOfASignal) {
  join();
  run_task(attempt(1));
  feed(DrainRequested{});
  answer(expect_report());
  SyncReply order = reply();
  order.drain = true;
  order.drain_within = seconds(2);
  answer(poll, order);
  poll = expect_poll();
  advance(seconds(2));
  expect_kill(attempt(1), KillWhy::kDrained);
}

class DrainOfThree : public Harness {
 protected:
  static AgentConfig three() {
    AgentConfig config = test_config();
    config.controllers = 3;
    return config;
  }
  DrainOfThree() : Harness(three()) {}
};

TEST_F(DrainOfThree, RegisterThatFailsIsNotRepeatedAtTheOthers) {
  feed(Start{});
  const auto sent = expect<SendRegister>();
  feed(DrainRequested{});
  feed(CallFailed{sent.call, {}, {}});
  expect_exit(Exit::How::kDrained);
}

TEST_F(Drain, NobodyLeavesBeforeItsLastProcessIsGone) {
  join();
  run_task(attempt(1));
  feed(ReleaseNow{});
  expect_kill(attempt(1), KillWhy::kDrained);
  fail(expect_report());
  advance(seconds(5));
  EXPECT_FALSE(agent.exited());
  out.clear();
  feed(ProcessExited{attempt(1), Killed{}});
  advance(seconds(5));
  EXPECT_TRUE(agent.exited());
  out.clear();
}

}  // namespace
}  // namespace vortex::agent
