// Who leads, for how long by whose clock, and what follows from every doubt.

#include "core/leadership.h"

#include <deque>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

namespace vortex::core::lead {
namespace {

constexpr Duration kLease = seconds(10);
constexpr Duration kServe = seconds(7);
constexpr Duration kRenewAfter = millis(3330);
constexpr Duration kPauseMax = millis(2500);
constexpr Instant kDatabaseNow{seconds(5'000'000).us};

// Records every output; all must be accounted for by the end of the test.
class LeadershipTest : public ::testing::Test {
 protected:
  void TearDown() override { expect_nothing(); }

  void feed(const Input& input) {
    for (Output& output : leadership.on(input, now)) out.push_back(std::move(output));
    EXPECT_GT(leadership.next_wake(), now) << "it would spin";
  }
  void advance(Duration duration) {
    const Instant until = now + duration;
    while (now < until) {
      now = std::min(until, leadership.next_wake());
      feed(Tick{});
    }
  }
  template <class Wanted>
  Wanted expect() {
    if (out.empty() || !std::holds_alternative<Wanted>(out.front())) {
      ADD_FAILURE() << "the next of " << out.size() << " outputs is of another kind";
      return Wanted{};
    }
    Wanted wanted = std::get<Wanted>(std::move(out.front()));
    out.pop_front();
    return wanted;
  }
  void expect_nothing() { EXPECT_TRUE(out.empty()) << out.size() << " outputs are left"; }
  void expect_step_down(Term term, StepDown::Why why) {
    const auto down = expect<StepDown>();
    EXPECT_EQ(down.term, term);
    EXPECT_EQ(down.why, why);
    EXPECT_FALSE(leadership.leads());
  }

  TryAcquire try_acquire() {
    feed(Tick{});
    return expect<TryAcquire>();
  }
  void win(const TryAcquire& asked, Term term) {
    feed(AcquireAnswer{asked.call, Won{term, kDatabaseNow}});
  }
  void load(Term term) {
    win(try_acquire(), term);
    EXPECT_EQ(expect<StartLoading>().term, term);
  }
  void lead_in(Term term) {
    load(term);
    feed(ReloadDone{term});
    EXPECT_EQ(expect<StartServing>().term, term);
    EXPECT_TRUE(leadership.leads());
  }
  // After a step down: asks again within the pause.
  TryAcquire asks_again() {
    advance(kPauseMax);
    return expect<TryAcquire>();
  }

  Leadership leadership{{.me = ControllerId{"c1"}, .lease = kLease, .seed = 1}, Instant{}};
  Instant now{};
  std::deque<Output> out;
};

TEST_F(LeadershipTest, TriesAtOnceAndLoadsBeforeItServes) {
  const auto asked = try_acquire();
  EXPECT_EQ(asked.me, ControllerId{"c1"});
  EXPECT_EQ(asked.lease, kLease);
  advance(millis(200));
  win(asked, Term{4});
  const auto loading = expect<StartLoading>();
  EXPECT_EQ(loading.term, Term{4});
  EXPECT_FALSE(leadership.leads());
  advance(seconds(1));
  expect_nothing();
  feed(ReloadDone{Term{4}});
  EXPECT_EQ(expect<StartServing>().term, Term{4});
}

TEST_F(LeadershipTest, TermClockIsTheDatabasesTimeCarriedOnByTheBootClock) {
  const auto asked = try_acquire();
  advance(millis(200));
  win(asked, Term{1});
  const auto loading = expect<StartLoading>();
  EXPECT_EQ(loading.clock.now(now), kDatabaseNow);
  EXPECT_EQ(loading.clock.now(now + seconds(3)), kDatabaseNow + seconds(3));
}

TEST_F(LeadershipTest, RenewsAtAThirdOfTheLease) {
  lead_in(Term{1});
  advance(kRenewAfter - micros(1));
  expect_nothing();
  advance(micros(1));
  auto renew = expect<Renew>();
  EXPECT_EQ(renew.term, Term{1});
  advance(seconds(1));
  feed(RenewAnswer{renew.call, Renewed{}});
  advance(kRenewAfter - seconds(1));  // counted from when the last one was sent
  renew = expect<Renew>();
  feed(RenewAnswer{renew.call, Renewed{}});
  EXPECT_TRUE(leadership.leads());
}

TEST_F(LeadershipTest, RenewsWhileItLoads) {
  load(Term{1});
  advance(kRenewAfter);
  feed(RenewAnswer{expect<Renew>().call, Renewed{}});
  advance(kRenewAfter);
  feed(RenewAnswer{expect<Renew>().call, Renewed{}});
  feed(ReloadDone{Term{1}});
  expect<StartServing>();
}

TEST_F(LeadershipTest, StepsDownByItsOwnClockCountedFromWhenItAsked) {
  const auto asked = try_acquire();
  advance(seconds(2));
  win(asked, Term{1});
  expect<StartLoading>();
  feed(ReloadDone{Term{1}});
  expect<StartServing>();
  EXPECT_EQ(leadership.serves_until(), Instant{} + kServe);
  advance(kRenewAfter - seconds(2));
  expect<Renew>();  // never answered
  advance(kServe - kRenewAfter - micros(1));
  expect_nothing();
  EXPECT_EQ(leadership.next_wake(), Instant{} + kServe);
  advance(micros(1));
  expect_step_down(Term{1}, StepDown::Why::kOwnClock);
  EXPECT_FALSE(leadership.serves_until().has_value());
  asks_again();
}

TEST_F(LeadershipTest, PausedLeaderStepsDownBeforeAnythingElse) {
  lead_in(Term{1});
  now = now + seconds(30);
  feed(MayBeFree{});
  expect_step_down(Term{1}, StepDown::Why::kOwnClock);
  asks_again();
}

TEST_F(LeadershipTest, RenewalThatFailsIsTriedAgainWithoutCountingOnIt) {
  lead_in(Term{1});
  advance(kRenewAfter);
  feed(RenewAnswer{expect<Renew>().call, Unavailable{}});
  expect_nothing();
  advance(millis(500));
  feed(RenewAnswer{expect<Renew>().call, Unknown{}});
  EXPECT_EQ(leadership.serves_until(), Instant{} + kServe);
  advance(millis(500));
  const Instant sent = now;
  const auto renew = expect<Renew>();
  feed(RenewAnswer{renew.call, Renewed{}});
  EXPECT_GT(leadership.serves_until(), Instant{} + kServe);
  EXPECT_LE(leadership.serves_until(), sent + kServe);
}

TEST_F(LeadershipTest, LostRenewalIsTheEndOfTheTerm) {
  lead_in(Term{1});
  advance(kRenewAfter);
  feed(RenewAnswer{expect<Renew>().call, Lost{}});
  expect_step_down(Term{1}, StepDown::Why::kLost);
  asks_again();
}

TEST_F(LeadershipTest, V11_LostFenceDropsEverythingAndComesBackOnlyWithAHigherTerm) {
  lead_in(Term{1});
  feed(FenceLost{Term{1}});
  expect_step_down(Term{1}, StepDown::Why::kFenceLost);
  win(asks_again(), Term{3});
  EXPECT_EQ(expect<StartLoading>().term, Term{3});
  feed(ReloadDone{Term{1}});
  expect_nothing();
  feed(ReloadDone{Term{3}});
  EXPECT_EQ(expect<StartServing>().term, Term{3});
}

TEST_F(LeadershipTest, UnknownCommitDropsEverythingAndReloadsInAHigherTerm) {
  lead_in(Term{1});
  feed(CommitUnknown{Term{1}});
  expect_step_down(Term{1}, StepDown::Why::kCommitUnknown);
  win(asks_again(), Term{2});
  EXPECT_EQ(expect<StartLoading>().term, Term{2});
}

TEST_F(LeadershipTest, WordsAboutAnOldTermAreIgnored) {
  lead_in(Term{1});
  feed(CommitUnknown{Term{1}});
  expect_step_down(Term{1}, StepDown::Why::kCommitUnknown);
  win(asks_again(), Term{2});
  expect<StartLoading>();
  feed(CommitUnknown{Term{1}});
  feed(FenceLost{Term{1}});
  feed(ReloadFailed{Term{1}});
  feed(ReloadDone{Term{1}});
  expect_nothing();
}

TEST_F(LeadershipTest, AnswersToOldRequestsAreIgnored) {
  lead_in(Term{1});
  advance(kRenewAfter);
  const auto old_renew = expect<Renew>();
  feed(FenceLost{Term{1}});
  expect_step_down(Term{1}, StepDown::Why::kFenceLost);
  const auto asked = asks_again();
  win(asked, Term{3});
  expect<StartLoading>();
  advance(kRenewAfter);
  const auto renew = expect<Renew>();
  const auto until = leadership.serves_until();
  feed(RenewAnswer{old_renew.call, Renewed{}});
  feed(RenewAnswer{old_renew.call, Lost{}});
  feed(AcquireAnswer{asked.call, Won{Term{9}, kDatabaseNow}});
  EXPECT_EQ(leadership.serves_until(), until);
  feed(RenewAnswer{renew.call, Renewed{}});
  EXPECT_GT(leadership.serves_until(), until);
}

TEST_F(LeadershipTest, UnknownAcquireIsNotAssumedToHaveWon) {
  feed(AcquireAnswer{try_acquire().call, Unknown{}});
  expect_nothing();
  EXPECT_FALSE(leadership.serves_until().has_value());
  win(asks_again(), Term{2});  // term 1 was won without our knowing
  EXPECT_EQ(expect<StartLoading>().term, Term{2});
}

TEST(LeadershipPace, ALongLeaseDoesNotMakeThePausesLong) {
  LeadershipConfig config;
  config.me = ControllerId("a");
  config.lease = hours(24);
  config.pace = kLease;
  const Instant now{1'000'000};
  Leadership leadership(config, now);
  const Outbox out = leadership.on(Tick{}, now);
  ASSERT_EQ(out.size(), 1U);
  leadership.on(AcquireAnswer{std::get<TryAcquire>(out[0]).call, Unavailable{}}, now);
  EXPECT_LE(leadership.next_wake() - now, kPauseMax);
}

TEST_F(LeadershipTest, UnavailableStoreIsAskedAgainWithGrowingPauses) {
  Duration longest{};
  for (int i = 0; i < 12; ++i) {
    feed(AcquireAnswer{(i == 0 ? try_acquire() : expect<TryAcquire>()).call, Unavailable{}});
    const Duration pause = leadership.next_wake() - now;
    EXPECT_LE(pause, kPauseMax);
    longest = std::max(longest, pause);
    advance(pause);
  }
  expect<TryAcquire>();
  EXPECT_GE(longest, kPauseMax / 2);
}

TEST_F(LeadershipTest, AcquireThatIsNeverAnsweredIsGivenUp) {
  const auto lost = try_acquire();
  advance(kLease);
  expect_nothing();
  advance(kPauseMax);
  expect<TryAcquire>();
  win(lost, Term{1});
  expect_nothing();
}

TEST_F(LeadershipTest, AcquireWonTooLateIsNotUsed) {
  const auto asked = try_acquire();
  advance(kServe);
  win(asked, Term{1});
  expect_nothing();
  win(asks_again(), Term{2});
  EXPECT_EQ(expect<StartLoading>().term, Term{2});
}

TEST_F(LeadershipTest, StandbyLooksOftenAndAtOnceWhenTheLeaseMayBeFree) {
  feed(AcquireAnswer{try_acquire().call, HeldByOther{ControllerId{"c2"}, seconds(9)}});
  const Duration wait = leadership.next_wake() - now;
  EXPECT_GE(wait, millis(500));
  EXPECT_LE(wait, seconds(1));
  feed(MayBeFree{});
  feed(AcquireAnswer{expect<TryAcquire>().call, HeldByOther{ControllerId{"c2"}, millis(100)}});
  EXPECT_LE(leadership.next_wake() - now, millis(100));
}

TEST_F(LeadershipTest, ReloadThatTookLongerThanTheLeaseAllowsIsNotServed) {
  load(Term{1});
  now = now + kServe;
  feed(ReloadDone{Term{1}});
  expect_step_down(Term{1}, StepDown::Why::kOwnClock);
  asks_again();
}

TEST_F(LeadershipTest, FailedReloadGivesTheLeaseBack) {
  load(Term{1});
  feed(ReloadFailed{Term{1}});
  expect_step_down(Term{1}, StepDown::Why::kReloadFailed);
  EXPECT_EQ(expect<Release>().term, Term{1});
  asks_again();
}

TEST_F(LeadershipTest, S07_StopReleasesTheLeaseAfterSteppingDown) {
  lead_in(Term{1});
  feed(StopRequested{});
  expect_step_down(Term{1}, StepDown::Why::kStopped);
  EXPECT_EQ(expect<Release>().term, Term{1});
  EXPECT_EQ(leadership.next_wake(), kNever);
  feed(StopRequested{});
  feed(MayBeFree{});
  feed(Tick{});
}

TEST_F(LeadershipTest, S07_LeaseWonAfterTheStopIsGivenBack) {
  const auto asked = try_acquire();
  feed(StopRequested{});
  expect_nothing();
  win(asked, Term{1});
  EXPECT_EQ(expect<Release>().term, Term{1});
  win(asked, Term{1});
  expect_nothing();
}

TEST_F(LeadershipTest, TermsThatKeepEndingInDoubtArePacedAndAQuietOneResetsThePace) {
  Duration last{};
  for (std::uint64_t term = 1; term <= 8; ++term) {
    if (term == 1) {
      load(Term{term});
    } else {
      win(expect<TryAcquire>(), Term{term});
      expect<StartLoading>();
    }
    feed(CommitUnknown{Term{term}});
    expect_step_down(Term{term}, StepDown::Why::kCommitUnknown);
    last = leadership.next_wake() - now;
    advance(last);
  }
  EXPECT_GE(last, kPauseMax / 2);
  win(expect<TryAcquire>(), Term{9});
  expect<StartLoading>();
  feed(ReloadDone{Term{9}});
  expect<StartServing>();
  advance(kRenewAfter);
  feed(RenewAnswer{expect<Renew>().call, Renewed{}});
  feed(CommitUnknown{Term{9}});
  expect_step_down(Term{9}, StepDown::Why::kCommitUnknown);
  EXPECT_LE(leadership.next_wake() - now, millis(200));
}

}  // namespace
}  // namespace vortex::core::lead
