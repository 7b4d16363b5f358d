// Several controllers: which one is called, and when.

#include "agent/contact.h"

#include "tests/agent/harness.h"

namespace vortex::agent {
namespace {

constexpr Duration kBackoffMax = seconds(5);

AgentConfig three_controllers() {
  AgentConfig config = test_config();
  config.controllers = 3;
  return config;
}

class ThreeControllers : public Harness {
 protected:
  ThreeControllers() : Harness(three_controllers()) {}
};

TEST_F(ThreeControllers, S05_FailedCallGoesToTheNextControllerAfterAShortWait) {
  join();
  EXPECT_EQ(poll.controller, ControllerIx{0});
  fail(poll);
  expect_nothing();
  EXPECT_GE(agent.next_wake(), now + kBackoffBase / 2);
  advance(kBackoffBase);
  EXPECT_EQ(expect_poll().controller, ControllerIx{1});
}

TEST_F(ThreeControllers, S05_HintAtTheLeaderIsFollowedAtOnce) {
  join();
  feed(CallFailed{poll.call, {}, ControllerIx{2}});
  EXPECT_EQ(expect_poll().controller, ControllerIx{2});
}

TEST_F(ThreeControllers, S05_ControllersThatAreLearnedLaterTakeTheirTurn) {
  join();
  feed(ControllersKnown{4});
  for (const std::uint32_t next : {1U, 2U, 3U, 0U}) {
    fail(poll);
    advance(kBackoffMax);
    poll = expect_poll();
    EXPECT_EQ(poll.controller, ControllerIx{next});
  }
  feed(ControllersKnown{2});
  fail(poll);
  advance(kBackoffMax);
  EXPECT_EQ(expect_poll().controller, ControllerIx{1}) << "none is forgotten";
}

TEST_F(ThreeControllers, BothChannelsShareTheControllerAndOneFailureMovesOnce) {
  join();
  assign(attempt(1));
  feed(ProcessStarted{attempt(1)});
  const auto report = expect_report();
  fail(poll);
  fail(report);
  advance(kBackoffBase);
  const auto again = expect_report();
  EXPECT_EQ(again.controller, ControllerIx{1});
  answer(again);
  EXPECT_EQ(expect_poll().controller, ControllerIx{1});
}

TEST_F(ThreeControllers, RegistrationTriesThemAll) {
  feed(Start{});
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto sent = expect<SendRegister>();
    EXPECT_EQ(sent.controller, ControllerIx{i % 3});
    feed(CallFailed{sent.call, {}, {}});
    advance(kBackoffMax);
  }
  expect<SendRegister>();
}

TEST(Contact, WaitsDoubleUpToTheLimitWithJitterAndStartOverAfterSuccess) {
  Contact contact(1, kBackoffMax, 1);
  Instant now{};
  Duration full = kBackoffBase;
  for (int i = 0; i < 40; ++i) {
    contact.failed({contact.callee(), {}, {}}, now);
    const Duration waited = contact.not_before() - now;
    EXPECT_GE(waited, full / 2);
    EXPECT_LE(waited, full);
    now = contact.not_before();
    full = std::min(full * 2, kBackoffMax);
  }
  contact.succeeded(contact.callee());
  EXPECT_TRUE(contact.may_call(now));
  contact.failed({contact.callee(), {}, {}}, now);
  EXPECT_LE(contact.not_before() - now, kBackoffBase);
}

TEST(Contact, TwoCallsThatFailTogetherCountAsOneFailure) {
  Contact contact(1, kBackoffMax, 1);
  const Callee callee = contact.callee();
  contact.failed({callee, {}, {}}, Instant{});
  const Instant not_before = contact.not_before();
  contact.failed({callee, {}, {}}, Instant{});
  EXPECT_EQ(contact.not_before(), not_before);
}

TEST(Contact, ControllersThatPointAtEachOtherAreNotCalledInALoop) {
  Contact contact(2, kBackoffMax, 1);
  const Instant now{};
  int hops = 0;
  for (; contact.may_call(now) && hops < 100; ++hops) {
    const Callee callee = contact.callee();
    contact.failed({callee, {}, ControllerIx{1 - callee.controller.value}}, now);
  }
  EXPECT_EQ(hops, 3);
}

TEST(Contact, HintAtItselfOrAtAnUnknownControllerIsAnOrdinaryFailure) {
  for (const ControllerIx leader : {ControllerIx{0}, ControllerIx{2}, ControllerIx{7}}) {
    Contact contact(2, kBackoffMax, 1);
    contact.failed({contact.callee(), {}, leader}, Instant{});
    EXPECT_FALSE(contact.may_call(Instant{}));
    EXPECT_EQ(contact.callee().controller, ControllerIx{1});
  }
}

TEST(Contact, RetryAfterIsRespectedButNeverLongEnoughToEndangerTheSession) {
  Contact contact(1, kBackoffMax, 1);
  contact.failed({contact.callee(), seconds(2), {}}, Instant{});
  EXPECT_EQ(contact.not_before(), Instant{seconds(2).us});
  contact.succeeded(contact.callee());
  contact.failed({contact.callee(), hours(1), {}}, Instant{});
  EXPECT_EQ(contact.not_before(), Instant{kBackoffMax.us});
}

TEST(Contact, ControllerThatStillAnswersIsTheOneToCall) {
  Contact contact(2, kBackoffMax, 1);
  const Callee first = contact.callee();
  contact.failed({first, {}, {}}, Instant{});
  contact.succeeded(first);
  EXPECT_EQ(contact.callee().controller, ControllerIx{0});
  EXPECT_TRUE(contact.may_call(Instant{}));
}

TEST(Contact, HintIsFollowedAtOnceEvenDuringAWait) {
  Contact contact(3, kBackoffMax, 1);
  contact.failed({contact.callee(), {}, {}}, Instant{});
  EXPECT_FALSE(contact.may_call(Instant{}));
  contact.failed({contact.callee(), {}, ControllerIx{0}}, Instant{});
  EXPECT_TRUE(contact.may_call(Instant{}));
  EXPECT_EQ(contact.callee().controller, ControllerIx{0});
}

TEST(Contact, AfterASuccessHintsAreFollowedAtOnceAgain) {
  Contact contact(2, kBackoffMax, 1);
  for (int round = 0; round < 3; ++round) {
    for (int hop = 0; hop < 2; ++hop) {
      const Callee callee = contact.callee();
      contact.failed({callee, {}, ControllerIx{1 - callee.controller.value}}, Instant{});
      EXPECT_TRUE(contact.may_call(Instant{}));
    }
    contact.succeeded(contact.callee());
  }
}

TEST_F(Harness, WaitsBetweenTriesGrowToHalfAHeartbeatAndItWakesForEach) {
  join();
  Duration longest;
  for (int i = 0; i < 20; ++i) {
    fail(poll);
    const Duration wait = agent.next_wake() - now;
    EXPECT_LE(wait, kBeat / 2);
    longest = std::max(longest, wait);
    now = agent.next_wake();
    feed(Tick{});
    poll = expect_poll();
  }
  EXPECT_GT(longest, kBeat / 4);
}

}  // namespace
}  // namespace vortex::agent
