// Partition leases: absolute expiry, an epoch that only grows, and former holders are fenced.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Leases : public LifeTest {
 protected:
  Leases() {
    ignore({EventKind::kLeaseAcquired, EventKind::kLeaseReleased, EventKind::kLeaseExpired});
  }
  LeaseGranted acquire(const std::string& agent) {
    return ask<LeaseGranted>(AcquireLease{{}, key_, AgentId(agent)});
  }
  LeaseGranted renew(const std::string& agent, Epoch epoch) {
    return ask<LeaseGranted>(RenewLease{{}, key_, AgentId(agent), epoch});
  }
  // Nothing that a former holder asks for is done.
  void expect_fenced(const std::string& agent, Epoch epoch) {
    EXPECT_EQ(ask_in_vain(RenewLease{{}, key_, AgentId(agent), epoch}), RefusalKind::kLeaseNotHeld);
    EXPECT_EQ(ask_in_vain(ReleaseLease{{}, key_, AgentId(agent), epoch}),
              RefusalKind::kLeaseNotHeld);
    EXPECT_EQ(ask_in_vain(CheckLease{{}, key_, AgentId(agent), epoch}), RefusalKind::kLeaseNotHeld);
  }
  const PartitionLeaseRow& lease() const { return mirror.leases.at(key_); }

  const PartitionKey key_{"orders", 7};
};

TEST_F(Leases, S02_ALeaseIsAcquiredRenewedAndReleased) {
  const LeaseGranted granted = acquire("a");
  EXPECT_EQ(granted.epoch, (Epoch{1}));
  EXPECT_EQ(granted.expires_at, now + seconds(30));
  advance(seconds(20));
  EXPECT_EQ(renew("a", granted.epoch).expires_at, now + seconds(30));
  EXPECT_EQ(lease().expires_at, now + seconds(30)) << "a renewal is durable when it is answered";
  advance(seconds(20));
  ask<LeaseGranted>(CheckLease{{}, key_, AgentId("a"), granted.epoch});
  ask_done(ReleaseLease{{}, key_, AgentId("a"), granted.epoch});
  EXPECT_TRUE(lease().holder.empty());
  EXPECT_EQ(acquire("b").epoch, (Epoch{2}));
}

TEST_F(Leases, S02_WhatIsHeldIsNotGivenToAnother) {
  acquire("a");
  EXPECT_EQ(ask_in_vain(AcquireLease{{}, key_, AgentId("b")}), RefusalKind::kLeaseTaken);
  advance(seconds(29));
  EXPECT_EQ(ask_in_vain(AcquireLease{{}, key_, AgentId("b")}), RefusalKind::kLeaseTaken);
}

TEST_F(Leases, S02_AnExpiredLeaseCanBeTakenWithoutAnyDeathDetected) {
  acquire("a");
  advance(seconds(30));
  EXPECT_EQ(take_all(EventKind::kLeaseExpired).size(), 1u);
  EXPECT_EQ(acquire("b").epoch, (Epoch{2}));
}

TEST_F(Leases, S02_ExpiryIsAbsoluteEvenWhileWeAreAway) {
  acquire("a");
  vanish(seconds(31));
  EXPECT_EQ(acquire("b").epoch, (Epoch{2}));
  expect_fenced("a", {1});
}

TEST_F(Leases, S02_ExpiryIsToldAlsoWhenTheNextHolderIsFasterThanTheTimer) {
  acquire("a");
  vanish(seconds(31));
  acquire("b");
  const auto told = take_all(EventKind::kLeaseExpired);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].data[2].second, EventValue("a"));
  EXPECT_EQ(lease().holder, AgentId("b"));
}

TEST_F(Leases, S03_AFormerHolderIsToldAndCanChangeNothing) {
  const LeaseGranted first = acquire("a");
  advance(seconds(31));
  expect_fenced("a", first.epoch);
  const LeaseGranted second = acquire("b");
  const PartitionLeaseRow before = lease();
  expect_fenced("a", first.epoch);
  expect_fenced("a", second.epoch);
  expect_fenced("b", first.epoch);
  EXPECT_EQ(lease().expires_at, before.expires_at);
  EXPECT_EQ(lease().holder, AgentId("b"));
}

TEST_F(Leases, S03_TheHolderWhoAsksAgainGetsANewEpochAndTheOldIsVoid) {
  const LeaseGranted first = acquire("a");
  const LeaseGranted second = acquire("a");
  EXPECT_EQ(second.epoch, first.epoch.next());
  expect_fenced("a", first.epoch);
  renew("a", second.epoch);
}

TEST_F(Leases, S02_EpochsGrowAcrossControllers) {
  const LeaseGranted first = acquire("a");
  reload();
  renew("a", first.epoch);
  ask_done(ReleaseLease{{}, key_, AgentId("a"), first.epoch});
  reload();
  EXPECT_EQ(acquire("a").epoch, (Epoch{2}));
  advance(seconds(31));
  reload();
  expect_fenced("a", {2});
  EXPECT_EQ(acquire("b").epoch, (Epoch{3}));
}

TEST_F(Leases, S02_AnExpiryThatPassedBetweenTwoLeadersIsSeen) {
  acquire("a");
  vanish(seconds(40));
  reload();
  advance(seconds(1));
  EXPECT_EQ(take_all(EventKind::kLeaseExpired).size(), 1u);
  EXPECT_TRUE(lease().holder.empty());
}

TEST_F(Leases, S02_ALeaseIsOverAtTheVeryInstantOfItsExpiry) {
  const LeaseGranted first = acquire("a");
  vanish(seconds(30));
  EXPECT_EQ(now, first.expires_at);
  expect_fenced("a", first.epoch);
  EXPECT_EQ(acquire("b").epoch, (Epoch{2}));
}

TEST_F(Leases, S02_AReleasedLeaseEndsWhenItWasReleased) {
  const LeaseGranted first = acquire("a");
  advance(seconds(5));
  ask_done(ReleaseLease{{}, key_, AgentId("a"), first.epoch});
  EXPECT_EQ(lease().expires_at, now);
}

TEST_F(Leases, S02_EveryChangeOfTheHolderIsToldAndOnlyAnExpiryIsAWarning) {
  const LeaseGranted first = acquire("a");
  const Event acquired = take(EventKind::kLeaseAcquired);
  EXPECT_EQ(text(acquired, "topic"), "orders");
  EXPECT_EQ(number(acquired, "partition"), 7);
  EXPECT_EQ(text(acquired, "agent"), "a");
  EXPECT_EQ(number(acquired, "epoch"), 1);
  ask_done(ReleaseLease{{}, key_, AgentId("a"), first.epoch});
  const Event released = take(EventKind::kLeaseReleased);
  EXPECT_EQ(text(released, "agent"), "a");
  EXPECT_EQ(released.severity, Severity::kInfo);
  acquire("b");
  take(EventKind::kLeaseAcquired);
  advance(seconds(30));
  const Event expired = take(EventKind::kLeaseExpired);
  EXPECT_EQ(text(expired, "agent"), "b");
  EXPECT_EQ(expired.severity, Severity::kWarning);
}

TEST_F(Leases, S02_EachOfSeveralLeasesExpiresOnItsOwnTimeAfterAReload) {
  acquire("a");
  advance(seconds(10));
  ask<LeaseGranted>(AcquireLease{{}, {"orders", 8}, AgentId("b")});
  reload();
  advance(seconds(20));
  EXPECT_TRUE(lease().holder.empty());
  EXPECT_EQ(mirror.leases.at({"orders", 8}).holder, AgentId("b"));
  advance(seconds(10));
  EXPECT_TRUE(mirror.leases.at({"orders", 8}).holder.empty());
}

TEST_F(Leases, S07_AGoodbyeReleasesAllLeasesAtOnce) {
  ignore_comings_and_goings();
  Hand& w = join("w");
  acquire("w");
  ask<LeaseGranted>(AcquireLease{{}, {"orders", 8}, AgentId("w")});
  ask<LeaseGranted>(AcquireLease{{}, {"orders", 9}, AgentId("other")});
  w.leaving = Leaving::kGone;
  report(w, {});
  take_refusal(w);
  hush(w);
  EXPECT_EQ(state_of(w), WorkerState::kInactive);
  EXPECT_EQ(take_all(EventKind::kLeaseReleased).size(), 2u);
  EXPECT_EQ(acquire("b").epoch, (Epoch{2}));
  EXPECT_EQ(mirror.leases.at({"orders", 9}).holder, AgentId("other"));
}

}  // namespace
}  // namespace vortex::core
