// Cut off or away: the self-fence, and validation after a gap.

#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

using Fence = Harness;

class CutOff : public Harness {
 protected:
  // Answers every call with a failure until this instant; orders other than calls stay.
  void cut_off_until(Instant until) {
    while (now < until) {
      drop_calls();
      now = std::min(until, agent.next_wake());
      feed(Tick{});
    }
  }
  void drop_calls() {
    std::deque<Output> kept;
    while (!out.empty()) {
      Output output = std::move(out.front());
      out.pop_front();
      if (const auto* sync = std::get_if<SendSync>(&output)) {
        last_failed = *sync;
        fail(*sync);
      } else {
        kept.push_back(std::move(output));
      }
    }
    out = std::move(kept);
  }
  SendSync last_failed;
};

TEST_F(CutOff, V15_TasksAreKilledExactlyFAfterTheLastAcknowledgedSyncWasSent) {
  join();
  run_task(attempt(1));
  advance(seconds(3));
  const Instant sent = now;
  feed(ProcessCheckpoint{attempt(1), "half"});
  const auto report = expect_report();
  advance(seconds(2));
  answer(report);  // counts from when it was sent, not from when it was answered
  fail(poll);
  cut_off_until(sent + kFence - micros(1));
  drop_calls();
  expect_nothing();
  EXPECT_FALSE(agent.fenced());
  EXPECT_LE(agent.next_wake(), sent + kFence);
  cut_off_until(sent + kFence);
  expect_kill(attempt(1), KillWhy::kSelfFenced);
  EXPECT_TRUE(agent.fenced());
  drop_calls();
}

TEST_F(Fence, TasksMayRunATickBeyondTheFenceWhoeverKeepsIt) {
  EXPECT_EQ(agent.tasks_until(), Instant{}) << "nothing runs before there is a session";
  join();
  const Instant sent = now;
  run_task(attempt(1));
  const Duration tick = test_config().tick;
  const Duration kill = test_config().kill_time;
  EXPECT_EQ(agent.tasks_until(), sent + kFence + tick);
  EXPECT_LE(agent.tasks_until() + kill, sent + kLease * 95 / 100);
  refuse(poll, SyncRefusal::Why::kSessionEnded);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  EXPECT_EQ(agent.tasks_until(), Instant{});
}

// A worker with the usual settings (K 15 s, F 40 s) and a controller with the tuning `testing`.
TEST_F(Fence, V08_ControllerWithFasterTimingsIsFollowed) {
  feed(Start{});
  const auto call = expect<SendRegister>();
  feed(RegisterAnswer{call.call, RegisterAccepted{term, seconds(5), millis(500), millis(2500)}});
  poll = expect_poll();
  EXPECT_EQ(poll.request.wait, millis(500)) << "its beat";
  const Instant sent = now;
  SyncReply short_lease = reply();
  short_lease.lease = seconds(5);
  Assignment& given = short_lease.assignments.emplace_back();
  given.attempt = attempt(1);
  answer(poll, short_lease);
  expect<StartProcess>();
  EXPECT_GE(agent.tasks_until(), sent + seconds(2)) << "time enough for three beats";
  EXPECT_LE(agent.tasks_until(), sent + millis(2500)) << "as the controller told";
  expect_poll();
}

TEST_F(Fence, TaskThatItsRunnerFencedIsReleasedByAWorkerThatWakesUp) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Killed{Killed::By::kFence}});
  expect_release_of(attempt(1), Released::Cause::kSelfFenced);
}

TEST_F(Fence, TaskThatWasLostWithItsRunnerIsReleasedWithAWord) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Killed{Killed::By::kRunnerLoss}});
  const auto sent = expect_report_of<Released>(attempt(1));
  EXPECT_NE(std::get<Released>(sent.request.reports.at(0).body).message, "");
}

TEST_F(Fence, TaskWhoseOutputsTheWorkerCannotReadIsReleasedWithAWord) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Killed{Killed::By::kWorkerFault}});
  const auto sent = expect_report_of<Released>(attempt(1));
  EXPECT_NE(std::get<Released>(sent.request.reports.at(0).body).message.find("outputs"),
            std::string::npos);
}

TEST_F(Fence, TimeoutStaysATimeoutWhenTheRunnerHadToBeKilled) {
  join();
  run_task(attempt(1), seconds(1));
  advance(seconds(1));
  expect_kill(attempt(1), KillWhy::kTimedOut);
  feed(ProcessExited{attempt(1), Killed{Killed::By::kRunnerLoss}});
  expect_report_of<TimedOut>(attempt(1));
}

TEST_F(CutOff, WakeIsExactEvenWhenNothingElseHappens) {
  join();
  run_task(attempt(1));
  const Instant alive = now;
  advance(seconds(35));
  EXPECT_EQ(agent.next_wake(), alive + kFence);
  advance(seconds(5));
  expect_kill(attempt(1), KillWhy::kSelfFenced);
}

TEST_F(CutOff, SelfFencedTaskIsReportedReleasedWhenContactComesBack) {
  join();
  run_task(attempt(1));
  advance(kFence);
  expect_kill(attempt(1), KillWhy::kSelfFenced);
  feed(ProcessExited{attempt(1), Killed{}});
  const auto report = expect_release_of(attempt(1), Released::Cause::kSelfFenced);
  answer(report);
  EXPECT_FALSE(agent.fenced());
  EXPECT_TRUE(agent.held().empty());
  fail(poll);
  advance(kBackoffBase);
  const auto next = expect_poll();
  SyncReply given = reply();
  given.assignments.push_back(assignment(attempt(1, 2)));
  answer(next, given);
  expect_start(attempt(1, 2));
  expect_poll();
}

TEST_F(Fence, TaskThatCompletedBeforeTheFenceReachedItIsReportedCompleted) {
  join();
  run_task(attempt(1));
  advance(kFence);
  expect_kill(attempt(1), KillWhy::kSelfFenced);
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  expect_report_of<Completed>(attempt(1));
}

TEST_F(Fence, ReplyThatIsTooLateStartsNothing) {
  join();
  advance(kFence);
  SyncReply late = reply();
  late.assignments.push_back(assignment(attempt(1)));
  answer(poll, late);
  const auto report = expect_release_of(attempt(1), Released::Cause::kSelfFenced);
  EXPECT_EQ(report.request.ack, late.mark);
  EXPECT_TRUE(agent.fenced());
  answer(report);
  EXPECT_FALSE(agent.fenced());
  expect_poll();
}

TEST_F(Fence, ReplyToACallSentInTimeSavesTheTasksAtTheLastMoment) {
  join();
  run_task(attempt(1));
  const Instant alive = now;
  advance(seconds(30));
  feed(ProcessCheckpoint{attempt(1), "half"});
  const auto report = expect_report();
  const Instant sent = now;
  now = alive + kFence;
  answer(report);
  EXPECT_FALSE(agent.fenced());
  EXPECT_EQ(agent.next_wake(), now + kBeat);
  advance(sent + kFence - now);
  expect_kill(attempt(1), KillWhy::kSelfFenced);
}

TEST_F(Fence, ShorterLeaseThanExpectedMovesTheFenceForward) {
  join();
  run_task(attempt(1));
  SyncReply shorter = reply();
  shorter.lease = seconds(40);  // 0.95 L - K - tick = 38 - 15 - 0.5
  answer(poll, shorter);
  expect_poll();
  const Instant alive = now;
  advance(millis(22'500) - micros(1));
  expect_nothing();
  EXPECT_EQ(agent.next_wake(), alive + millis(22'500));
  advance(micros(1));
  expect_kill(attempt(1), KillWhy::kSelfFenced);
}

TEST_F(CutOff, FirstPollAfterTroubleAsksForAnAnswerAtOnce) {
  join();
  run_task(attempt(1));
  fail(poll);
  advance(kBackoffBase);
  auto next = expect_poll();
  EXPECT_EQ(next.request.wait, Duration{});
  EXPECT_EQ(next.time_limit, kBeat);
  answer(next);
  next = expect_poll();
  EXPECT_EQ(next.request.wait, kBeat);
  EXPECT_EQ(next.time_limit, kBeat * 2);
}

TEST_F(Fence, CallsNeverOutlastTheFenceUnnoticed) {
  join();
  EXPECT_LE(poll.time_limit.us, (kFence * 2 / 3).us);
  assign(attempt(1));
  feed(ProcessStarted{attempt(1)});
  EXPECT_LE(expect_report().time_limit.us, (kFence / 3).us);
}

TEST_F(Fence, AfterAGapNothingStartsBeforeWhatIsHeldIsConfirmed) {
  join();
  run_task(attempt(1));
  vanish(kBeat * 2 + micros(1));
  SyncReply old = reply();
  old.assignments.push_back(assignment(attempt(2)));
  answer(poll, old);
  const auto check = expect_report();
  ASSERT_TRUE(check.request.held.has_value());
  EXPECT_EQ(check.request.held->size(), 2u);
  expect_nothing();
  answer(check);
  expect_start(attempt(2));
  expect_poll();
}

TEST_F(Fence, AfterAGapWhatWasTakenAwayIsNotStarted) {
  join();
  vanish(kBeat * 3);
  SyncReply old = reply();
  old.assignments.push_back(assignment(attempt(2)));
  answer(poll, old);
  SyncReply verdict = reply();
  verdict.stale.push_back(attempt(2));
  answer(expect_report(), verdict);
  EXPECT_TRUE(expect_poll().request.held->empty());
}

TEST_F(Fence, GapIsValidatedByACallSentAfterIt) {
  join();
  assign(attempt(1));
  feed(ProcessStarted{attempt(1)});
  const auto before = expect_report_of<Started>(attempt(1));
  vanish(kBeat * 2 + micros(1));
  SyncReply old = reply();
  old.assignments.push_back(assignment(attempt(2)));
  answer(before, old);
  auto check = expect_report();
  fail(check);
  advance(kBackoffBase);
  check = expect_report();
  EXPECT_TRUE(check.request.held.has_value());
  answer(check);
  expect_start(attempt(2));
}

TEST_F(Fence, AbsenceWithinTwoHeartbeatsIsNoGap) {
  join();
  vanish(kBeat * 2);
  assign(attempt(1));
}

TEST_F(Fence, ProcessesGoOnThroughAGapUnlessTheFenceHasPassed) {
  join();
  run_task(attempt(1));
  vanish(kFence - micros(1));
  feed(Tick{});
  const auto check = expect_report();
  EXPECT_EQ(check.request.held->size(), 1u);
  answer(check);
  vanish(kFence);
  feed(Tick{});
  expect_kill(attempt(1), KillWhy::kSelfFenced);
  expect_report();
}

TEST_F(Fence, ResumedZombieKillsItsCopyWhenToldThatItIsStale) {
  join();
  run_task(attempt(1));
  vanish(kLease * 2);
  feed(Tick{});
  expect_kill(attempt(1), KillWhy::kSelfFenced);
  const auto check = expect_report();
  refuse(check, SyncRefusal::Why::kSessionEnded);
  expect_hang_up(poll);
  feed(ProcessExited{attempt(1), Killed{}});
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{8});
}

TEST_F(Fence, ReplyThatNamesNoLeaseLeavesTheFenceAsItWasSet) {
  join();
  run_task(attempt(1));
  SyncReply without = reply();
  without.lease = Duration{};
  answer(poll, without);
  const Instant sent = now;
  poll = expect_poll();
  EXPECT_EQ(agent.tasks_until(), sent + kFence + test_config().tick);
}

TEST_F(Fence, PollIsParkedUnlessTheFenceIsLessThanOneAndAHalfHeartbeatsAway) {
  join();
  const Instant sent = now;
  advance(kFence - kBeat * 3 / 2);
  answer(poll);
  poll = expect_poll();
  EXPECT_EQ(poll.request.wait, kBeat);
  EXPECT_EQ(now, sent + kFence - kBeat * 3 / 2);
}

TEST_F(Fence, PollAsksForAnAnswerAtOnceWhenTheFenceIsCloser) {
  join();
  advance(kFence - kBeat * 3 / 2 + micros(1));
  answer(poll);
  EXPECT_EQ(expect_poll().request.wait, Duration{});
}

}  // namespace
}  // namespace vortex::agent
