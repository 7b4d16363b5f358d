// What becomes of an attempt: started, ended by itself, stopped, timed out, taken away.

#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

using Tasks = Harness;

TEST_F(Tasks, FailureIsReportedAsItHappened) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Failed{Failed::Cause::kExitCode, 3, "no such file"}});
  const auto sent = expect_report_of<Failed>(attempt(1));
  EXPECT_EQ(std::get<Failed>(sent.request.reports[0].body).code, 3);
  EXPECT_EQ(std::get<Failed>(sent.request.reports[0].body).message, "no such file");
}

TEST_F(Tasks, CommandThatCanNotBeStartedIsAFailure) {
  join();
  assign(attempt(1));
  feed(ProcessCouldNotStart{attempt(1), 2, "no such program"});
  const auto sent = expect_report_of<Failed>(attempt(1));
  EXPECT_EQ(std::get<Failed>(sent.request.reports[0].body).cause, Failed::Cause::kCouldNotStart);
}

TEST_F(Tasks, WhatTheWorkerCouldNotPrepareIsReleasedAndNobodyIsBlamed) {
  join();
  assign(attempt(1));
  feed(ProcessCouldNotStart{attempt(1), 0, "could not fetch its checkpoint",
                            ProcessCouldNotStart::Fault::kWorker});
  const auto sent = expect_release_of(attempt(1), Released::Cause::kNotStarted);
  EXPECT_EQ(std::get<Released>(sent.request.reports[0].body).message,
            "could not fetch its checkpoint");
}

TEST_F(Tasks, AnAssignmentBeyondTheSlotsWaitsForOne) {
  join();
  for (std::uint32_t task = 1; task <= 4; ++task) assign(attempt(task));
  SyncReply given = reply();
  given.assignments.push_back(assignment(attempt(5)));
  answer(poll, given);
  EXPECT_EQ(expect_poll().request.held->size(), 5u);
  feed(ProcessExited{attempt(2), Completed{"{}"}});
  expect_start(attempt(5));
  expect_report_of<Completed>(attempt(2));
}

TEST_F(Tasks, ExecutionTimeoutCountsFromTheStartOfTheProcess) {
  join();
  assign(attempt(1), seconds(5));
  advance(seconds(4));
  feed(ProcessStarted{attempt(1)});
  answer(expect_report_of<Started>(attempt(1)));
  EXPECT_EQ(agent.next_wake(), now + seconds(5));
  advance(seconds(5) - micros(1));
  expect_nothing();
  advance(micros(1));
  expect_kill(attempt(1), KillWhy::kTimedOut);
  feed(ProcessExited{attempt(1), Killed{}});
  expect_report_of<TimedOut>(attempt(1));
}

TEST_F(Tasks, StoppedTaskIsReportedReleasedWhenItsProcessesAreGone) {
  join();
  run_task(attempt(1));
  SyncReply stop = reply();
  stop.stops.push_back({attempt(1), StopOrder::Why::kCancelled});
  answer(poll, stop);
  expect_kill(attempt(1), KillWhy::kStopped);
  poll = expect_poll();
  EXPECT_EQ(poll.request.held->size(), 1u);
  // Repeated until it is reported gone; killed once.
  SyncReply again = reply();
  again.stops.push_back({attempt(1), StopOrder::Why::kCancelled});
  answer(poll, again);
  expect_poll();
  feed(ProcessCheckpoint{attempt(1), "saved on SIGTERM"});
  answer(expect_report_of<Checkpoint>(attempt(1)));
  feed(ProcessExited{attempt(1), Killed{}});
  expect_release_of(attempt(1), Released::Cause::kStopped);
}

TEST_F(Tasks, StopOfATaskThatNeverStartedEndsItWithoutAProcess) {
  join();
  SyncReply both = reply();
  both.assignments.push_back(assignment(attempt(1)));
  both.stops.push_back({attempt(1), StopOrder::Why::kNotStartedInTime});
  answer(poll, both);
  answer(expect_release_of(attempt(1), Released::Cause::kStopped));
  EXPECT_TRUE(expect_poll().request.held->empty());
}

TEST_F(Tasks, StopWhileTheProcessIsBeingStartedKillsIt) {
  join();
  assign(attempt(1));
  SyncReply stop = reply();
  stop.stops.push_back({attempt(1), StopOrder::Why::kNotStartedInTime});
  answer(poll, stop);
  expect_kill(attempt(1), KillWhy::kStopped);
  expect_poll();
  feed(ProcessStarted{attempt(1)});
  answer(expect_report_of<Started>(attempt(1)));
  feed(ProcessExited{attempt(1), Killed{}});
  expect_release_of(attempt(1), Released::Cause::kStopped);
}

TEST_F(Tasks, ProcessThatCouldNotStartAfterAStopIsReleased) {
  join();
  assign(attempt(1));
  SyncReply stop = reply();
  stop.stops.push_back({attempt(1), StopOrder::Why::kCancelled});
  answer(poll, stop);
  expect_kill(attempt(1), KillWhy::kStopped);
  expect_poll();
  feed(ProcessCouldNotStart{attempt(1), 0, "cancelled"});
  expect_release_of(attempt(1), Released::Cause::kStopped);
}

TEST_F(Tasks, TaskThatCompletedBeforeTheStopStaysCompleted) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  SyncReply stop = reply();
  stop.seq_seen = poll.request.seq;
  stop.stops.push_back({attempt(1), StopOrder::Why::kCancelled});
  answer(poll, stop);
  fail(report);
  advance(kBackoffBase);
  expect_report_of<Completed>(attempt(1));
}

TEST_F(Tasks, TaskThatEndedByItselfBeforeTheKillReachedItIsReportedAsItEnded) {
  join();
  run_task(attempt(1), seconds(5));
  advance(seconds(5));
  expect_kill(attempt(1), KillWhy::kTimedOut);
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  expect_report_of<Completed>(attempt(1));
}

TEST_F(Tasks, FirstReasonToKillIsTheOneReported) {
  join();
  run_task(attempt(1), seconds(5));
  advance(seconds(5));
  expect_kill(attempt(1), KillWhy::kTimedOut);
  SyncReply stop = reply();
  stop.stops.push_back({attempt(1), StopOrder::Why::kExecutionTimeout});
  answer(poll, stop);
  expect_poll();
  feed(ProcessExited{attempt(1), Killed{}});
  expect_report_of<TimedOut>(attempt(1));
}

TEST_F(Tasks, StaleAttemptIsKilledWithoutAWord) {
  join();
  run_task(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "half"});
  const auto report = expect_report_of<Checkpoint>(attempt(1));
  SyncReply stale = reply();
  stale.seq_seen = poll.request.seq;
  stale.stale.push_back(attempt(1));
  answer(poll, stale);
  expect_kill(attempt(1), KillWhy::kStale);
  EXPECT_EQ(agent.pending_reports(), 0u);
  answer(report);
  poll = expect_poll();
  EXPECT_TRUE(poll.request.held->empty());
  EXPECT_EQ(poll.request.slots, 3u) << "its processes still take a slot";
  feed(ProcessStarted{attempt(1)});
  feed(ProcessCheckpoint{attempt(1), "more"});
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  expect_nothing();
  answer(poll);
  EXPECT_EQ(expect_poll().request.slots, 4u);
}

TEST_F(Tasks, EndOfAStaleAttemptIsNotReportedAnyMore) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  SyncReply stale = reply();
  stale.seq_seen = poll.request.seq;
  stale.stale.push_back(attempt(1));
  answer(poll, stale);
  fail(report);
  advance(kBackoffBase);
  EXPECT_TRUE(expect_poll().request.reports.empty());
}

TEST_F(Tasks, StaleOverridesAKillThatWouldHaveBeenReported) {
  join();
  run_task(attempt(1), seconds(5));
  advance(seconds(5));
  expect_kill(attempt(1), KillWhy::kTimedOut);
  SyncReply stale = reply();
  stale.stale.push_back(attempt(1));
  answer(poll, stale);
  expect_poll();
  feed(ProcessExited{attempt(1), Killed{}});
  expect_nothing();
}

TEST_F(Tasks, NewEpochStartsOnlyWhenTheProcessesOfTheOldOneAreGone) {
  join();
  run_task(attempt(1, 1));
  SyncReply given = reply();
  given.assignments.push_back(assignment(attempt(1, 2)));
  answer(poll, given);
  expect_kill(attempt(1, 1), KillWhy::kStale);
  expect_poll();
  feed(ProcessExited{attempt(1, 1), Killed{}});
  expect_start(attempt(1, 2));
}

TEST_F(Tasks, OlderEpochThanTheHeldOneIsNotStarted) {
  join();
  assign(attempt(1, 5));
  SyncReply given = reply();
  given.assignments.push_back(assignment(attempt(1, 4)));
  answer(poll, given);
  EXPECT_EQ(expect_poll().request.held->size(), 1u);
}

TEST_F(Tasks, OrdersAboutUnknownAttemptsDoNothing) {
  join();
  SyncReply odd = reply();
  odd.stale.push_back(attempt(9));
  odd.stops.push_back({attempt(8), StopOrder::Why::kCancelled});
  answer(poll, odd);
  expect_poll();
  feed(ProcessStarted{attempt(9)});
  feed(ProcessProgress{attempt(9), Progress{1, ""}});
  feed(ProcessCheckpoint{attempt(9), "x"});
  feed(ProcessCouldNotStart{attempt(9), 1, ""});
  feed(ProcessExited{attempt(9), Completed{}});
  feed(CallFailed{CallId{999}, {}, {}});
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Tasks, EndThatIsToldTwiceIsReportedOnce) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  feed(ProcessExited{attempt(1), Failed{Failed::Cause::kExitCode, 1, ""}});
  feed(ProcessCouldNotStart{attempt(1), 1, ""});
  EXPECT_EQ(agent.pending_reports(), 1u);
  answer(report);
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Tasks, ProcessThatItsWorkerKilledWithoutAnOrderFailedBySignal) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Killed{}});
  const auto report = expect_report_of<Failed>(attempt(1));
  const auto& failed = std::get<Failed>(report.request.reports[0].body);
  EXPECT_EQ(failed.cause, Failed::Cause::kSignal);
  EXPECT_EQ(failed.code, 9);
}

}  // namespace
}  // namespace vortex::agent
