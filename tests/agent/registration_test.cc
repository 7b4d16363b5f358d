// Registering, losing the session, and being replaced by a newer life.

#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

using Registration = Harness;

TEST_F(Registration, IsTheFirstThingAWorkerDoes) {
  feed(Tick{});
  expect_nothing();
  feed(Start{});
  const auto sent = expect<SendRegister>();
  EXPECT_EQ(sent.info.id, WorkerId{"w1"});
  EXPECT_EQ(sent.incarnation, Incarnation{7});
  feed(Tick{});
  feed(Start{});
  expect_nothing();
  accept(sent);
  const auto poll_sent = expect_poll();
  EXPECT_EQ(poll_sent.request.incarnation, Incarnation{7});
  EXPECT_EQ(poll_sent.request.wait, kBeat);
  EXPECT_EQ(poll_sent.request.slots, 4u);
  ASSERT_TRUE(poll_sent.request.held.has_value());
  EXPECT_TRUE(poll_sent.request.held->empty());
}

TEST_F(Registration, FirstRefusalMeansTheClockWentBackAndRaisesTheIncarnation) {
  feed(Start{});
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{20}}});
  const auto again = expect<SendRegister>();
  EXPECT_EQ(again.incarnation, Incarnation{21});
  accept(again);
  EXPECT_EQ(expect_poll().request.incarnation, Incarnation{21});
  EXPECT_EQ(agent.incarnation(), Incarnation{21});
}

TEST_F(Registration, TwoLivesThatOverbidEachOtherDoNotSpin) {
  feed(Start{});
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{20}}});
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{30}}});
  expect_nothing();
  advance(kBackoffBase);
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{31});
}

TEST_F(Registration, IsTriedAgainWithTheSameIncarnationWhenTheAnswerIsLost) {
  feed(Start{});
  feed(CallFailed{expect<SendRegister>().call, {}, {}});
  expect_nothing();
  advance(kBackoffBase);
  const auto again = expect<SendRegister>();
  EXPECT_EQ(again.incarnation, Incarnation{7});
  // The first one had arrived: a controller that refuses its repetition is answered by a raise.
  feed(RegisterAnswer{again.call, RegisterRefused{Incarnation{7}}});
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{8});
}

TEST_F(Registration, EndedSessionKillsEverythingAndThenRegistersAsANewLife) {
  join();
  run_task(attempt(1));
  assign(attempt(2));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  refuse(poll, SyncRefusal::Why::kSessionEnded);
  expect_hang_up(report);
  expect_kill(attempt(2), KillWhy::kSessionOver);
  EXPECT_EQ(agent.pending_reports(), 0u);
  advance(seconds(5));
  expect_nothing();
  feed(ProcessExited{attempt(2), Killed{}});
  const auto again = expect<SendRegister>();
  EXPECT_EQ(again.incarnation, Incarnation{8});
  accept(again);
  const auto first = expect_poll();
  EXPECT_EQ(first.request.ack, ReplyMark{});
  EXPECT_TRUE(first.request.held->empty());
  EXPECT_TRUE(first.request.reports.empty());
}

TEST_F(Registration, EverythingSaidInALifeCarriesItsSession) {
  feed(Start{});
  const auto first = expect<SendRegister>();
  feed(RegisterAnswer{first.call, RegisterAccepted{term, kLease, {}, {}, "vxs_1"}});
  poll = expect_poll();
  EXPECT_EQ(poll.session, "vxs_1");
  run_task(attempt(1));
  feed(ProcessExited{attempt(1), Completed{"{}"}});
  const auto report = expect_report_of<Completed>(attempt(1));
  EXPECT_EQ(report.session, "vxs_1");
  refuse(poll, SyncRefusal::Why::kWrongSession);
  expect_hang_up(report);
  const auto again = expect<SendRegister>();
  EXPECT_EQ(again.incarnation, Incarnation{8});
  feed(RegisterAnswer{again.call, RegisterAccepted{term, kLease, {}, {}, "vxs_2"}});
  EXPECT_EQ(expect_poll().session, "vxs_2");
}

TEST_F(Registration, LostAnswerIsFollowedByANewLifeAtOnce) {
  feed(Start{});
  const auto first = expect<SendRegister>();
  feed(CallFailed{first.call, {}, {}});
  advance(kBackoffBase);
  const auto same = expect<SendRegister>();
  EXPECT_EQ(same.incarnation, first.incarnation);
  feed(RegisterAnswer{same.call, RegisterRefused{first.incarnation}});
  EXPECT_EQ(expect<SendRegister>().incarnation, first.incarnation.next());
}

TEST_F(Registration, UnknownWorkerIsAnEndedSession) {
  join();
  run_task(attempt(1));
  refuse(poll, SyncRefusal::Why::kUnknownWorker);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  feed(ProcessExited{attempt(1), Completed{}});
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{8});
}

TEST_F(Registration, ControllerThatForgetsEveryRegistrationIsNotAskedInALoop) {
  join();
  refuse(poll, SyncRefusal::Why::kUnknownWorker);
  expect_nothing();
  advance(kBackoffBase);
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{8});
}

TEST_F(Registration, NewSessionTakesAssignmentsAlthoughItsRepliesAreCountedAnew) {
  join();
  run_task(attempt(1));
  refuse(poll, SyncRefusal::Why::kSessionEnded);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  feed(ProcessExited{attempt(1), Killed{}});
  accept(expect<SendRegister>());
  poll = expect_poll();
  replies = 0;
  assign(attempt(1, 2));
}

TEST_F(Registration, AnswersOfTheLastSessionDoNotCountInTheNext) {
  join();
  const SendSync old_poll = poll;
  run_task(attempt(1));
  refuse(poll, SyncRefusal::Why::kSessionEnded);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  feed(ProcessExited{attempt(1), Killed{}});
  accept(expect<SendRegister>());
  expect_poll();
  refuse(poll, SyncRefusal::Why::kSessionEnded);
  answer(old_poll);
  expect_nothing();
}

TEST_F(Registration, NewerLifeMakesTheOldOneKillItsTasksSilentlyAndExit) {
  join();
  run_task(attempt(1));
  run_task(attempt(2));
  refuse(poll, SyncRefusal::Why::kStaleIncarnation);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  expect_kill(attempt(2), KillWhy::kSessionOver);
  feed(ProcessExited{attempt(1), Killed{}});
  expect_nothing();
  feed(ProcessExited{attempt(2), Completed{}});
  expect_exit(Exit::How::kSuperseded);
}

TEST_F(Registration, NewerLifeFoundWhileRegisteringAgainMakesTheOldOneExit) {
  join();
  answer(poll);
  refuse(expect_poll(), SyncRefusal::Why::kSessionEnded);
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{9}}});
  expect_exit(Exit::How::kSuperseded);
}

TEST_F(Registration, AgentThatWasNotStartedWantsNothing) {
  feed(Tick{});
  EXPECT_EQ(agent.next_wake(), kNever);
}

TEST_F(Registration, AnswersThatBelongToNoCallDoNothing) {
  feed(Start{});
  const auto sent = expect<SendRegister>();
  feed(RegisterAnswer{CallId{99}, RegisterAccepted{term, kLease}});
  expect_nothing();
  feed(SyncAnswer{sent.call, reply()});  // an answer of another kind than the call
  expect_nothing();
  accept(sent);
  poll = expect_poll();
  feed(RegisterAnswer{poll.call, RegisterAccepted{Term{5}, kLease}});
  expect_nothing();
  answer(poll);
  EXPECT_EQ(expect_poll().request.ack.term, term);
}

TEST_F(Registration, CallThatFailsAfterTheSessionEndedDoesNothing) {
  join();
  run_task(attempt(1));
  feed(ProcessCheckpoint{attempt(1), "x"});
  refuse(expect_report(), SyncRefusal::Why::kSessionEnded);
  expect_hang_up(poll);
  expect_kill(attempt(1), KillWhy::kSessionOver);
  fail(poll);
  expect_nothing();
  feed(ProcessExited{attempt(1), Killed{}});
  expect<SendRegister>();
}

TEST_F(Registration, LeaderThatWasReplacedRegistersNobody) {
  term = Term{3};
  join();
  refuse(poll, SyncRefusal::Why::kSessionEnded);
  advance(kBackoffBase);
  const auto again = expect<SendRegister>();
  feed(RegisterAnswer{again.call, RegisterAccepted{Term{2}, kLease}});
  expect_nothing();
  advance(kBackoffBase * 2);
  accept(expect<SendRegister>());
  poll = expect_poll();
  // The term of the registration counts for what follows.
  SyncReply old = reply();
  old.mark.term = Term{2};
  old.assignments.push_back(assignment(attempt(1)));
  answer(poll, old);
  expect_nothing();
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Registration, TermOfTheRegistrationCountsForItsReplies) {
  term = Term{3};
  join();
  SyncReply old = reply();
  old.mark.term = Term{2};
  old.assignments.push_back(assignment(attempt(1)));
  answer(poll, old);
  expect_nothing();
  EXPECT_TRUE(agent.held().empty());
}

TEST_F(Registration, OnceRegisteredTheTroubleIsOver) {
  feed(Start{});
  feed(CallFailed{expect<SendRegister>().call, {}, {}});
  advance(kBackoffBase);
  accept(expect<SendRegister>());
  EXPECT_EQ(expect_poll().request.wait, kBeat);
}

TEST_F(Registration, EverySessionMayRaiseOnceWithoutAWait) {
  feed(Start{});
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{7}}});
  accept(expect<SendRegister>());
  poll = expect_poll();
  answer(poll);
  refuse(expect_poll(), SyncRefusal::Why::kSessionEnded);
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{3}}});
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{10});
}

TEST_F(Registration, RefusalOfItsOwnEarlierTryIsNoNewerLife) {
  join();
  answer(poll);
  refuse(expect_poll(), SyncRefusal::Why::kSessionEnded);
  const auto lost = expect<SendRegister>();
  EXPECT_EQ(lost.incarnation, Incarnation{8});
  feed(CallFailed{lost.call, {}, {}});
  advance(kBackoffBase);
  feed(RegisterAnswer{expect<SendRegister>().call, RegisterRefused{Incarnation{8}}});
  EXPECT_EQ(expect<SendRegister>().incarnation, Incarnation{9});
}

}  // namespace
}  // namespace vortex::agent
