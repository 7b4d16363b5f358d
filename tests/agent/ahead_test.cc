// Holding work ahead of the slots, and giving it back.

#include "agent/held.h"
#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

AgentConfig two_quick_slots() {
  AgentConfig config = test_config();
  config.info.slots = 2;
  config.assumed_run = millis(5);
  return config;
}

class Ahead : public Harness {
 protected:
  Ahead() : Harness(two_quick_slots()) {}

  void give(std::uint32_t tasks) {
    SyncReply given = reply();
    for (std::uint32_t task = 1; task <= tasks; ++task) {
      given.assignments.push_back(assignment(attempt(task)));
    }
    answer(poll, given);
    poll = {};
  }
  // The end of the first has been told and heard; that of the second just came.
  void end_two_of_five() {
    join();
    give(5);
    expect_start(attempt(1));
    expect_start(attempt(2));
    static_cast<void>(expect_poll());
    feed(ProcessExited{attempt(1), Completed{"{}"}});
    expect_start(attempt(3));
    answer(expect_report_of<Completed>(attempt(1)));
    feed(ProcessExited{attempt(2), Completed{"{}"}});
    expect_start(attempt(4));
  }
};

TEST(PaceTest, NothingIsHeldAheadUntilTasksHaveProvedShort) {
  Pace pace(2, seconds(1));
  EXPECT_EQ(pace.ahead(), 0u);
  pace.ended(millis(1));
  EXPECT_EQ(pace.ahead(), 0u);
  for (int i = 0; i < 40; ++i) pace.ended(millis(1));
  EXPECT_GE(pace.ahead(), 2u * 20);
  EXPECT_LE(pace.ahead(), 2u * kAheadPerSlotMax);
}

TEST(PaceTest, OneLongTaskEndsIt) {
  Pace pace(4, millis(1));
  EXPECT_GT(pace.ahead(), 0u);
  pace.ended(seconds(1));
  EXPECT_EQ(pace.ahead(), 0u);
}

TEST(PaceTest, TasksLongerThanARoundTripAreNotHeldAhead) {
  Pace pace(4, seconds(1));
  for (int i = 0; i < 100; ++i) pace.ended(millis(30));
  EXPECT_EQ(pace.ahead(), 0u);
}

TEST_F(Ahead, AsksForMoreThanItsSlotsAndStartsNoMoreThanThose) {
  join();
  EXPECT_EQ(poll.request.slots, 2u + 2 * 5);
  give(3);
  expect_start(attempt(1));
  expect_start(attempt(2));
  EXPECT_EQ(expect_poll().request.held->size(), 3u);
  feed(ProcessStarted{attempt(1)});
  const auto report = expect_report_of<Started>(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  expect_start(attempt(3));
  answer(report);
  expect_report_of<Completed>(attempt(1));
}

TEST_F(Ahead, WhatHasWaitedTooLongIsGivenBackAndNoMoreIsAskedFor) {
  join();
  give(4);
  expect_start(attempt(1));
  expect_start(attempt(2));
  static_cast<void>(expect_poll());
  advance(kAheadPatience);
  const auto report = expect_report();
  ASSERT_EQ(report.request.reports.size(), 2u);
  for (const Report& back : report.request.reports) {
    const auto* released = std::get_if<Released>(&back.body);
    ASSERT_NE(released, nullptr);
    EXPECT_EQ(released->cause, Released::Cause::kNotStarted);
  }
  EXPECT_EQ(report.request.reports[0].attempt, attempt(3));
  EXPECT_EQ(report.request.reports[1].attempt, attempt(4));
  EXPECT_EQ(report.request.slots, 2u) << "they were not short after all";
}

TEST_F(Ahead, EndsAreToldTogetherWhileThereIsWorkAhead) {
  end_two_of_five();
  EXPECT_EQ(agent.next_wake(), now + kReportsTogether);
  feed(ProcessExited{attempt(3), Completed{"{}"}});
  expect_start(attempt(5));
  // Nothing is ahead any more: a slot will be empty until the controller knows.
  const auto rest = expect_report();
  EXPECT_EQ(rest.request.reports.size(), 2u);
}

TEST_F(Ahead, ReportsWaitNoLongerThanTheirTime) {
  end_two_of_five();
  expect_nothing();
  advance(kReportsTogether);
  expect_report_of<Completed>(attempt(2));
}

TEST_F(Ahead, WorkStartsInTheOrderInWhichItCame) {
  join();
  SyncReply given = reply();
  for (const std::uint32_t task : {9u, 7u, 8u, 1u}) {
    given.assignments.push_back(assignment(attempt(task)));
  }
  answer(poll, given);
  expect_start(attempt(9));
  expect_start(attempt(7));
  static_cast<void>(expect_poll());
  feed(ProcessExited{attempt(7), Completed{"{}"}});
  expect_start(attempt(8));
  expect_report_of<Completed>(attempt(7));
}

TEST_F(Ahead, OperatorsDrainGivesBackWhatIsHeldAheadAndFinishesWhatRuns) {
  join();
  give(3);
  expect_start(attempt(1));
  expect_start(attempt(2));
  const auto parked = expect_poll();
  SyncReply leave = reply();
  leave.drain = true;
  answer(parked, leave);
  const auto told = expect_report_of<Released>(attempt(3));
  EXPECT_EQ(told.request.leaving, Leaving::kDraining);
  EXPECT_EQ(told.request.slots, 0u);
}

TEST_F(Ahead, WakesWhenItsPatienceEndsAndOnlyForWhatWaits) {
  join();
  give(2);
  expect_start(attempt(1));
  expect_start(attempt(2));
  poll = expect_poll();
  EXPECT_EQ(agent.next_wake(), now + kBeat) << "nothing waits for a slot";
  SyncReply more = reply();
  more.assignments.push_back(assignment(attempt(3)));
  answer(poll, more);
  static_cast<void>(expect_poll());
  EXPECT_EQ(agent.next_wake(), now + kAheadPatience);
}

TEST_F(Ahead, WorkHeldBackAfterAGapKeepsNobodyAwake) {
  join();
  vanish(kBeat * 2 + micros(1));
  give(1);
  expect_report();
  advance(kAheadPatience *
          2);  // the harness fails when the agent wants to be woken again and again
  EXPECT_GT(agent.next_wake(), now + kAheadPatience);
}

TEST_F(Ahead, ShortTasksAreMeasuredFromTheStartOfTheirProcess) {
  join();
  give(2);
  expect_start(attempt(1));
  expect_start(attempt(2));
  static_cast<void>(expect_poll());
  advance(millis(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});  // so short that its start was never told
  auto report = expect_report_of<Completed>(attempt(1));
  EXPECT_GT(report.request.slots, 2u);
  answer(report);
  feed(ProcessStarted{attempt(2)});
  answer(expect_report_of<Started>(attempt(2)));
  feed(ProcessExited{attempt(2), Completed{"{}"}});
  report = expect_report_of<Completed>(attempt(2));
  EXPECT_GT(report.request.slots, 2u);
}

TEST_F(Ahead, OneLongTaskEndsItAndOneThatWasKilledSaysNothing) {
  join();
  give(2);
  expect_start(attempt(1));
  expect_start(attempt(2));
  poll = expect_poll();
  SyncReply stop = reply();
  stop.stops.push_back({attempt(1), StopOrder::Why::kCancelled});
  answer(poll, stop);
  expect_kill(attempt(1), KillWhy::kStopped);
  poll = expect_poll();
  advance(seconds(5));
  feed(ProcessExited{attempt(1), Killed{}});
  auto report = expect_release_of(attempt(1), Released::Cause::kStopped);
  EXPECT_GT(report.request.slots, 2u) << "how long it ran was not its own doing";
  answer(report);
  feed(ProcessExited{attempt(2), Completed{"{}"}});
  report = expect_report_of<Completed>(attempt(2));
  EXPECT_EQ(report.request.slots, 2u);
}

}  // namespace
}  // namespace vortex::agent
