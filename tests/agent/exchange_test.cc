// The two channels: polls, reports, acknowledgements, and replies that come late or twice.

#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

using Exchange = Harness;

TEST_F(Exchange, PollIsParkedAgainAsSoonAsItIsAnswered) {
  join();
  advance(kBeat);
  expect_nothing();
  answer(poll);
  const auto next = expect_poll();
  EXPECT_EQ(next.request.ack, (ReplyMark{Term{1}, 1}));
  EXPECT_EQ(next.request.wait, kBeat);
}

TEST_F(Exchange, ReportsDoNotWaitBehindTheParkedPoll) {
  join();
  assign(attempt(1));
  feed(ProcessStarted{attempt(1)});
  const auto sent = expect_report_of<Started>(attempt(1));
  EXPECT_EQ(sent.request.wait, Duration{});
  EXPECT_FALSE(sent.request.held.has_value());
  EXPECT_EQ(sent.request.ack, (ReplyMark{Term{1}, 1}));
}

TEST_F(Exchange, ReportsThatComeInDuringACallGoTogetherWithTheNext) {
  join();
  assign(attempt(1));
  assign(attempt(2));
  feed(ProcessStarted{attempt(1)});
  const auto first = expect_report_of<Started>(attempt(1));
  feed(ProcessStarted{attempt(2)});
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  expect_nothing();
  answer(first);
  const auto second = expect_report();
  ASSERT_EQ(second.request.reports.size(), 2u);
  EXPECT_EQ(second.request.reports[0].attempt, attempt(2));
  EXPECT_TRUE(std::holds_alternative<Completed>(second.request.reports[1].body));
  answer(second);
  expect_nothing();
}

TEST_F(Exchange, ReportsAreSentAgainUntilTheControllerHasSeenThem) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  fail(expect_report_of<Completed>(attempt(1)));
  advance(kBackoffBase);
  SyncReply not_seen = reply();
  not_seen.seq_seen = 1;
  answer(expect_report_of<Completed>(attempt(1)), not_seen);
  answer(expect_report_of<Completed>(attempt(1)));
  EXPECT_EQ(agent.pending_reports(), 0u);
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Exchange, AnyReplyThatHasSeenTheReportAcknowledgesIt) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  answer(poll);  // made after the report was seen
  EXPECT_EQ(agent.pending_reports(), 0u);
  fail(report);
  advance(kBackoffBase);
  const auto next = expect_poll();
  EXPECT_TRUE(next.request.reports.empty());
  EXPECT_TRUE(next.request.held->empty());
}

TEST_F(Exchange, AttemptIsListedAsHeldUntilItsEndIsAcknowledged) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  ASSERT_EQ(agent.held().size(), 1u);
  answer(report);
  EXPECT_TRUE(agent.held().empty());
}

// So the call that carries reports is always the newest one sent.
TEST_F(Exchange, NextPollWaitsForTheReportInFlight) {
  join();
  run_task(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "half"});
  const auto report = expect_report_of<Checkpoint>(attempt(1));
  SyncReply early = reply();
  early.seq_seen = poll.request.seq;
  answer(poll, early);
  expect_nothing();
  answer(report);
  expect_poll();
}

TEST_F(Exchange, UnderSteadyReportsWhatIsHeldIsStillToldEveryHeartbeat) {
  join();
  run_task(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "0"});
  auto report = expect_report();
  EXPECT_FALSE(report.request.held.has_value());
  answer(poll, [&] {
    auto r = reply();
    r.seq_seen = 1;
    return r;
  }());
  int told = 0;
  for (int second = 1; second <= 20; ++second) {
    advance(seconds(1));
    feed(ProcessCheckpoint{attempt(1), std::to_string(second)});
    answer(report);
    report = expect_report();
    if (report.request.held) ++told;
  }
  EXPECT_EQ(told, 2);
}

TEST_F(Exchange, PollTellsProgressOfEveryHeldTask) {
  join();
  run_task(attempt(1));
  assign(attempt(2));
  feed(ProcessProgress{attempt(1), Progress{40, "copying"}});
  answer(poll);
  const auto next = expect_poll();
  ASSERT_EQ(next.request.held->size(), 2u);
  EXPECT_EQ(next.request.held->at(0).progress, (Progress{40, "copying"}));
  EXPECT_FALSE(next.request.held->at(1).progress.has_value());
}

TEST_F(Exchange, M02_PollTellsHowMuchATaskHasWrittenOnceItWasTold) {
  join();
  run_task(attempt(1));
  assign(attempt(2));
  feed(ProcessOutput{attempt(1), 40});
  feed(ProcessOutput{attempt(1), 80});
  answer(poll);
  const auto next = expect_poll();
  ASSERT_EQ(next.request.held->size(), 2u);
  EXPECT_EQ(next.request.held->at(0).output_bytes, 80u);
  EXPECT_FALSE(next.request.held->at(1).output_bytes.has_value());
}

TEST_F(Exchange, OnlyTheNewestCheckpointWaits) {
  join();
  run_task(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "1"});
  const auto first = expect_report_of<Checkpoint>(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "2"});
  feed(ProcessCheckpoint{attempt(1), "3"});
  answer(first);
  const auto second = expect_report_of<Checkpoint>(attempt(1));
  EXPECT_EQ(std::get<Checkpoint>(second.request.reports[0].body).data, "3");
}

TEST_F(Exchange, OvertakenCallIsSaidAnewAtOnce) {
  join();
  assign(attempt(1));
  const auto overtaken = poll;
  feed(ProcessStarted{attempt(1)});
  const auto report = expect_report_of<Started>(attempt(1));
  refuse(overtaken, SyncRefusal::Why::kOldMessage);
  expect_nothing();
  answer(report);
  EXPECT_EQ(expect_poll().request.held->size(), 1u);
}

TEST_F(Exchange, LastWordRefusedAsOldIsNotRepeatedInALoop) {
  join();
  refuse(poll, SyncRefusal::Why::kOldMessage);
  expect_nothing();
  advance(kBackoffBase);
  expect_poll();
}

TEST_F(Exchange, MalformedIsAFailureWithBackoff) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  refuse(expect_report_of<Completed>(attempt(1)), SyncRefusal::Why::kMalformed);
  expect_nothing();
  advance(kBackoffBase);
  expect_report_of<Completed>(attempt(1));
}

TEST_F(Exchange, RepeatedAssignmentStartsNothing) {
  join();
  assign(attempt(1));
  SyncReply again = reply();
  again.assignments.push_back(assignment(attempt(1)));
  answer(poll, again);
  EXPECT_EQ(expect_poll().request.ack, again.mark);
}

TEST_F(Exchange, AnswerThatComesTwiceCountsOnce) {
  join();
  SyncReply given = reply();
  given.assignments.push_back(assignment(attempt(1)));
  answer(poll, given);
  expect_start(attempt(1));
  expect_poll();
  answer(poll, given);
  expect_nothing();
}

TEST_F(Exchange, LateReplyDoesNotBringBackAnAttemptThatIsOver) {
  join();
  run_task(attempt(1));
  // The poll's answer repeats the assignment and is slow; meanwhile the attempt ends for good.
  SyncReply slow = reply();
  slow.assignments.push_back(assignment(attempt(1)));
  slow.seq_seen = poll.request.seq;
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  answer(expect_report_of<Completed>(attempt(1)));
  EXPECT_TRUE(agent.held().empty());
  answer(poll, slow);
  EXPECT_EQ(expect_poll().request.ack, (ReplyMark{Term{1}, slow.mark.reply + 1}));
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Exchange, LateReplyStillStopsWhatItOrdersToStop) {
  join();
  run_task(attempt(1));
  SyncReply slow = reply();
  slow.stops.push_back({attempt(1), StopOrder::Why::kCancelled});
  feed(ProcessCheckpoint{attempt(1), "half"});
  answer(expect_report_of<Checkpoint>(attempt(1)));
  answer(poll, slow);
  expect_kill(attempt(1), KillWhy::kStopped);
  expect_poll();
}

TEST_F(Exchange, NewTermContinuesTheSession) {
  join();
  run_task(attempt(1));
  const auto ack = poll.request.ack;
  term = Term{2};
  replies = 0;
  SyncReply repeated = reply();
  repeated.assignments.push_back(assignment(attempt(1)));
  repeated.assignments.push_back(assignment(attempt(2)));
  answer(poll, repeated);
  expect_start(attempt(2));
  const auto next = expect_poll();
  EXPECT_GT(next.request.ack, ack);
  EXPECT_EQ(next.request.ack, (ReplyMark{Term{2}, 1}));
}

TEST_F(Exchange, ReplyOfAnOlderTermIsIgnored) {
  join();
  run_task(attempt(1));
  SyncReply deposed = reply();
  deposed.assignments.push_back(assignment(attempt(2)));
  deposed.stale.push_back(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  term = Term{2};
  replies = 0;
  answer(poll, [&] {
    auto r = reply();
    r.seq_seen = 1;
    return r;
  }());
  answer(report, deposed);
  expect_nothing();
  EXPECT_EQ(agent.pending_reports(), 1u);
  advance(kBackoffBase);
  EXPECT_EQ(expect_report_of<Completed>(attempt(1)).request.ack, (ReplyMark{Term{2}, 1}));
}

TEST_F(Exchange, ControllerThatAnswersPollsAtOnceIsNotPolledInALoop) {
  join();
  for (int i = 0; i < 3; ++i) {
    answer(poll);
    poll = expect_poll();
  }
  answer(poll);
  expect_nothing();
  advance(millis(100));
  expect_poll();
}

TEST_F(Exchange, LargeReportsAreSpreadOverSeveralCalls) {
  join();
  run_task(attempt(1));
  run_task(attempt(2));
  feed(ProcessCheckpoint{attempt(1), "x"});
  const auto first = expect_report_of<Checkpoint>(attempt(1));
  feed(ProcessExited{attempt(1), Completed{std::string(700'000, 'x')}});
  feed(ProcessExited{attempt(2), Completed{std::string(700'000, 'x')}});
  answer(first);
  const auto second = expect_report_of<Completed>(attempt(1));
  answer(second);
  answer(expect_report_of<Completed>(attempt(2)));
  EXPECT_EQ(agent.pending_reports(), 0u);
}

TEST_F(Exchange, EveryCallSaysWhoseItIs) {
  join();
  EXPECT_EQ(poll.request.worker, WorkerId{"w1"});
  assign(attempt(1));
  feed(ProcessStarted{attempt(1)});
  const auto report = expect_report();
  EXPECT_EQ(report.request.worker, WorkerId{"w1"});
  EXPECT_EQ(report.time_limit, kBeat / 2) << "time for another one before the fence";
}

TEST_F(Exchange, AssignmentsOfAReplyThatWasActedOnAreNotTakenAgain) {
  join();
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  answer(expect_report_of<Completed>(attempt(1)));
  answer(poll);
  SyncReply again = reply();
  again.mark.reply = --replies;
  again.assignments.push_back(assignment(attempt(1)));
  answer(expect_poll(), again);
  expect_poll();
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Exchange, AfterAnOvertakenPollTheNextReportSaysWhatIsHeld) {
  join();
  assign(attempt(1));
  assign(attempt(2));
  feed(ProcessStarted{attempt(1)});
  const auto first = expect_report_of<Started>(attempt(1));
  EXPECT_FALSE(first.request.held.has_value());
  refuse(poll, SyncRefusal::Why::kOldMessage);
  feed(ProcessStarted{attempt(2)});
  answer(first);
  EXPECT_TRUE(expect_report_of<Started>(attempt(2)).request.held.has_value());
}

TEST_F(Exchange, PollThatWasOvertakenByAnAnsweredReportIsSaidAnewAtOnce) {
  join();
  run_task(attempt(1));
  refuse(poll, SyncRefusal::Why::kOldMessage);
  expect_poll();
}

class IdlePolls : public Harness {
 protected:
  // Answered at once, without news: three times in a row that is taken for chance.
  void three_in_vain() {
    for (int i = 0; i < 3; ++i) {
      answer(poll);
      poll = expect_poll();
    }
  }
  void expect_paced() {
    answer(poll);
    expect_nothing();
    EXPECT_EQ(agent.next_wake(), now + millis(100));
    advance(millis(100));
    poll = expect_poll();
  }
};

TEST_F(IdlePolls, ThatAreAnsweredTooSoonAreSpacedOutAndItWakesForThem) {
  join();
  three_in_vain();
  expect_paced();
}

TEST_F(IdlePolls, StaleAttemptsAreNews) {
  join();
  run_task(attempt(1));
  three_in_vain();
  SyncReply news = reply();
  news.stale.push_back(attempt(1));
  answer(poll, news);
  expect_kill(attempt(1), KillWhy::kStale);
  poll = expect_poll();
  three_in_vain();
  expect_paced();
}

TEST_F(IdlePolls, StaleAttemptsThatNobodyHoldsAreNot) {
  join();
  three_in_vain();
  SyncReply none = reply();
  none.stale.push_back(attempt(9));
  answer(poll, none);
  expect_nothing();
}

TEST_F(IdlePolls, AssignmentsAreNewsButTheirRepetitionIsNot) {
  join();
  three_in_vain();
  SyncReply news = reply();
  news.assignments.push_back(assignment(attempt(1)));
  answer(poll, news);
  expect_start(attempt(1));
  poll = expect_poll();
  three_in_vain();
  SyncReply again = reply();
  again.assignments.push_back(assignment(attempt(1)));
  answer(poll, again);
  expect_nothing();
}

TEST_F(IdlePolls, AcknowledgedEndsAreNews) {
  join();
  run_task(attempt(1));
  three_in_vain();
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  answer(poll);  // a poll's reply that has seen the report
  fail(report);
  expect_nothing();
  advance(kBackoffBase);
  poll = expect_poll();
  three_in_vain();
  expect_paced();
}

TEST_F(IdlePolls, OrderToDrainIsNewsOnce) {
  join();
  run_task(attempt(1));
  three_in_vain();
  SyncReply leave = reply();
  leave.drain = true;
  answer(poll, leave);
  answer(expect_report());
  poll = expect_poll();
  for (int i = 0; i < 3; ++i) {
    leave = reply();
    leave.drain = true;
    answer(poll, leave);
    poll = expect_poll();
  }
  leave = reply();
  leave.drain = true;
  answer(poll, leave);
  expect_nothing();
}

TEST_F(IdlePolls, AnsweredAfterATenthOfASecondAreInTime) {
  join();
  for (int i = 0; i < 6; ++i) {
    advance(millis(100));
    answer(poll);
    poll = expect_poll();
  }
  three_in_vain();
}

class FastBeat : public Harness {
 protected:
  static AgentConfig fast() {
    AgentConfig config = test_config();
    config.heartbeat_interval = millis(1500);
    return config;
  }
  FastBeat() : Harness(fast()) {}
};

TEST_F(FastBeat, GivesAReportASecond) {
  join();
  assign(attempt(1));
  feed(ProcessStarted{attempt(1)});
  EXPECT_EQ(expect_report().time_limit, seconds(1));
}

class SmallCalls : public Harness {
 protected:
  static AgentConfig small() {
    AgentConfig config = test_config();
    config.report_bytes_max = 1000;
    return config;
  }
  SmallCalls() : Harness(small()) {}

  // How many of these reports, said while a call is in flight, the next call carries.
  std::size_t together(std::vector<Input> said) {
    join();
    for (std::uint32_t i = 1; i <= 4; ++i) assign(attempt(i));
    feed(ProcessStarted{attempt(4)});
    const auto first = expect_report_of<Started>(attempt(4));
    for (Input& input : said) feed(std::move(input));
    answer(first);
    return expect_report().request.reports.size();
  }
};

TEST_F(SmallCalls, CheckpointsCount) {
  EXPECT_EQ(together({ProcessCheckpoint{attempt(4), std::string(600, 'x')},
                      ProcessExited{attempt(1), Completed{std::string(600, 'x')}}}),
            1u);
}

TEST_F(SmallCalls, MessagesOfFailuresCount) {
  const Failed failed{Failed::Cause::kExitCode, 1, std::string(600, 'x')};
  EXPECT_EQ(together({ProcessExited{attempt(1), failed}, ProcessExited{attempt(2), failed}}), 1u);
}

TEST_F(SmallCalls, MessagesOfReleasesCount) {
  const std::string rest(1000 - 64 - 64, 'x');  // the rest of the call, were there no message
  EXPECT_EQ(together({ProcessExited{attempt(1), Killed{Killed::By::kRunnerLoss}},
                      ProcessExited{attempt(2), Completed{rest}}}),
            1u);
}

TEST_F(SmallCalls, AreFilledToTheLastByte) {
  const std::string half(500 - 64, 'x');  // and what ids and names take
  EXPECT_EQ(together({ProcessExited{attempt(1), Completed{half}},
                      ProcessExited{attempt(2), Completed{half}}}),
            2u);
}

TEST_F(SmallCalls, AreNeverOverfilled) {
  const std::string half(500 - 64, 'x');
  EXPECT_EQ(together({ProcessExited{attempt(1), Completed{half}},
                      ProcessExited{attempt(2), Completed{half + "x"}}}),
            1u);
}

TEST_F(SmallCalls, ANewCheckpointReplacesNothingButTheOldOneOfItsTask) {
  EXPECT_EQ(together({ProcessStarted{attempt(1)}, ProcessStarted{attempt(2)},
                      ProcessCheckpoint{attempt(2), "two"}, ProcessCheckpoint{attempt(1), "one"}}),
            4u);
}

}  // namespace
}  // namespace vortex::agent
