// The brake: when most of the fleet seems dead at once, the controller suspects itself first.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class BrakeTest : public LifeTest {
 protected:
  BrakeTest() { ignore_comings_and_goings(); }

  // Workers w0, w1, ... with one running task each.
  RunId fleet(std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; ++i) join("w" + std::to_string(i));
    const RunId run = submit({mapped("m", range(1, size))});
    for (auto& [name, hand] : hands) take_and_start(hand);
    return run;
  }
  void hush_first(std::uint32_t number) {
    for (std::uint32_t i = 0; i < number; ++i) hush(hands.at("w" + std::to_string(i)));
  }
  // Its last word is now: from here on its silence is counted.
  void last_word(const std::string& name) {
    report(hands.at(name), {});
    hush(hands.at(name));
  }
  std::size_t offline() const {
    std::size_t out = 0;
    for (const auto& [id, worker] : mirror.workers) out += worker.state == WorkerState::kOffline;
    return out;
  }
  // Everything the silent ones lost is done by the others.
  void finish(RunId run) {
    for (auto& [name, hand] : hands) {
      if (hand.silent) continue;
      const auto held = hand.held;
      for (const HeldTask& task : held) complete(hand, task.attempt);
    }
    for (int i = 0; i < 20 && state_of(run) == RunState::kRunning; ++i) {
      for (auto& [name, hand] : hands) {
        while (!hand.silent && !hand.assigned.empty()) complete(hand, take_assignment(hand));
      }
      advance(seconds(6));
    }
    EXPECT_EQ(state_of(run), RunState::kCompleted);
  }
};

TEST_F(BrakeTest, AFewSilentWorkersAreLostAsUsual) {
  const RunId run = fleet(6);
  hush_first(2);
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u);
  finish(run);
}

TEST_F(BrakeTest, HalfIsNotMost) {
  const RunId run = fleet(4);
  hush_first(2);
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u);
  finish(run);
}

TEST_F(BrakeTest, AFleetBelowTheMinimumHasNoBrake) {
  const RunId run = fleet(3);
  hush_first(2);
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u);
  finish(run);
}

TEST_F(BrakeTest, WhenMostFallSilentNothingIsReclaimedUntilWeProvedOurselvesWell) {
  const RunId run = fleet(5);
  hush_first(3);
  advance(policy.worker_lease * 4);
  EXPECT_EQ(offline(), 0u);
  EXPECT_EQ(text(take(EventKind::kBrakeEngaged), "phase"), "holding");
  take_self_check();
  step(SelfCheckResult{false});
  advance(seconds(30));
  EXPECT_EQ(offline(), 0u);
  take_self_check();  // asked again and again
  step(SelfCheckResult{true});
  EXPECT_EQ(text(take(EventKind::kBrakeEngaged), "phase"), "trickle");
  advance(seconds(1));
  EXPECT_EQ(offline(), 1u);
  // 15% of five in a minute is one in 80 seconds.
  advance(seconds(78));
  EXPECT_EQ(offline(), 1u);
  advance(seconds(3));
  EXPECT_EQ(offline(), 2u);
  advance(seconds(78));
  EXPECT_EQ(offline(), 2u);
  advance(seconds(30));
  EXPECT_EQ(offline(), 3u);
  take(EventKind::kBrakeReleased);
  for (const TaskRow& task : mirror.tasks_of(run)) EXPECT_EQ(task.counters.crashes, 0u);
  finish(run);
}

TEST_F(BrakeTest, WhoIsHeardAgainIsSparedAndTheBrakeLetsGo) {
  const RunId run = fleet(5);
  hush_first(3);
  advance(policy.worker_lease + seconds(5));
  take(EventKind::kBrakeEngaged);
  for (auto& [name, hand] : hands) hand.silent = false;
  advance(seconds(5));
  take(EventKind::kBrakeReleased);
  take_self_check();
  EXPECT_EQ(offline(), 0u);
  EXPECT_EQ(take_all(EventKind::kHeartbeatRecovered).size(), 3u);
  EXPECT_TRUE(mirror.recoveries.empty());
  finish(run);
}

TEST_F(BrakeTest, ProofIsActedOnUnderTheBrakeAndBlames) {
  const RunId run = fleet(5);
  hush_first(3);
  advance(policy.worker_lease + seconds(5));
  take(EventKind::kBrakeEngaged);
  kill(hands.at("w0"));
  EXPECT_EQ(offline(), 1u);
  std::uint32_t crashes = 0;
  for (const TaskRow& task : mirror.tasks_of(run)) crashes += task.counters.crashes;
  EXPECT_EQ(crashes, 1u);
  take_self_check();
  ignore_everything_from_here();
}

TEST_F(BrakeTest, ManyHintsAtOnceCountForTheBrakeToo) {
  std::vector<WorkerInfo> infos;
  for (int i = 0; i < 5; ++i) {
    WorkerInfo info = worker_info("w" + std::to_string(i));
    info.address = "10.0.0.1:1";
    join(info);
  }
  for (int i = 0; i < 4; ++i) {
    cut(hands.at("w" + std::to_string(i)));
    const Probe probe = take_probe();
    step(ProbeResult{probe.worker, probe.incarnation, ProbeOutcome::kRefused});
  }
  advance(policy.reconnect_grace + seconds(1));
  EXPECT_EQ(offline(), 0u);
  take(EventKind::kBrakeEngaged);
  take_self_check();
}

TEST_F(BrakeTest, ThoseUnderSuspicionTakeNoNewWork) {
  fleet(5);
  hush_first(3);
  advance(policy.worker_lease + seconds(1));
  take(EventKind::kBrakeEngaged);
  take_self_check();
  submit({mapped("more", range(1, 5))});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(hands.at("w" + std::to_string(i)).assigned.empty());
  }
  ignore_everything_from_here();
}

TEST_F(BrakeTest, WhoWasSilentForHalfALeaseIsInDoubt) {
  fleet(5);
  last_word("w0");
  advance(policy.worker_lease / 2);
  last_word("w1");
  last_word("w2");
  advance(policy.worker_lease / 2);
  EXPECT_EQ(offline(), 0u);
  take(EventKind::kBrakeEngaged);
  take_self_check();
}

TEST_F(BrakeTest, WhoWasSilentForLessThanHalfALeaseIsNot) {
  const RunId run = fleet(5);
  last_word("w0");
  advance(policy.worker_lease / 2 + micros(1));
  last_word("w1");
  last_word("w2");
  advance(policy.worker_lease / 2 - micros(1));
  EXPECT_EQ(offline(), 1u);
  hands.at("w1").silent = hands.at("w2").silent = false;
  advance(seconds(1));
  finish(run);
}

TEST_F(BrakeTest, WhoWasLostWithinTheLastLeaseStillCountsAsInDoubt) {
  fleet(6);
  last_word("w0");
  last_word("w1");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u);
  last_word("w2");
  last_word("w3");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u) << "four of six within one lease";
  take(EventKind::kBrakeEngaged);
  take_self_check();
  ignore_everything_from_here();
}

TEST_F(BrakeTest, WhoWasLostBeforeThatDoesNot) {
  fleet(6);
  last_word("w0");
  last_word("w1");
  advance(policy.worker_lease + micros(1));
  last_word("w2");
  last_word("w3");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 4u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, ALostWorkerCountsForTheSizeOfTheFleetToo) {
  fleet(4);
  last_word("w0");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 1u);
  last_word("w1");
  last_word("w2");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 1u) << "it is a fleet of four, not of three";
  take(EventKind::kBrakeEngaged);
  take_self_check();
  ignore_everything_from_here();
}

TEST_F(BrakeTest, DeathsThatWereProvedRaiseNoDoubt) {
  fleet(6);
  for (const char* name : {"w0", "w1", "w2"}) kill(hands.at(name));
  last_word("w3");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 4u) << "one of the three that are left was silent";
  EXPECT_EQ(count(EventKind::kBrakeEngaged), 0u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, WhoWasLostAndCameBackIsCountedOnce) {
  fleet(5);
  last_word("w0");
  last_word("w1");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u);
  join(worker_info("w0"), {2});
  join(worker_info("w1"), {2});
  last_word("w2");
  last_word("w3");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 2u) << "two of five are lost as usual";
  EXPECT_EQ(count(EventKind::kBrakeEngaged), 0u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, ItAsksForASelfCheckAtOnceAndAgainEverySecond) {
  fleet(5);
  for (const char* name : {"w0", "w1", "w2"}) last_word(name);
  advance(policy.worker_lease);
  EXPECT_EQ(std::exchange(self_checks, 0u), 1u);
  advance(seconds(1) - micros(1));
  EXPECT_EQ(self_checks, 0u);
  advance(micros(1));
  EXPECT_EQ(std::exchange(self_checks, 0u), 1u);
  advance(seconds(1));
  EXPECT_EQ(std::exchange(self_checks, 0u), 1u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, AReclaimEvery80SecondsIs15PercentOfFiveInAMinute) {
  fleet(5);
  for (const char* name : {"w0", "w1", "w2"}) last_word(name);
  advance(policy.worker_lease);
  take_self_check();
  step(SelfCheckResult{true});
  EXPECT_EQ(offline(), 1u);
  advance(seconds(80) - micros(1));
  EXPECT_EQ(offline(), 1u);
  advance(micros(1));
  EXPECT_EQ(offline(), 2u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, OnceReleasedItLeavesTheNextLossAlone) {
  fleet(5);
  hush_first(3);
  advance(policy.worker_lease + seconds(5));
  for (auto& [name, hand] : hands) hand.silent = false;
  advance(seconds(5));
  take(EventKind::kBrakeReleased);
  last_word("w0");
  advance(policy.worker_lease);
  EXPECT_EQ(offline(), 1u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, UnderTheBrakeAHintWaitsForTheEndOfTheLease) {
  for (int i = 0; i < 5; ++i) {
    WorkerInfo info = worker_info("w" + std::to_string(i));
    info.address = "10.0.0.1:1";
    join(info);
  }
  const Instant heard = now;
  for (int i = 0; i < 4; ++i) {
    cut(hands.at("w" + std::to_string(i)));
    const Probe probe = take_probe();
    step(ProbeResult{probe.worker, probe.incarnation, ProbeOutcome::kRefused});
  }
  advance(policy.reconnect_grace);
  take(EventKind::kBrakeEngaged);
  take_self_check();
  step(SelfCheckResult{true});
  take(EventKind::kBrakeEngaged);
  advance(heard + policy.worker_lease - micros(1) - now);
  EXPECT_EQ(offline(), 0u);
  advance(micros(1));
  EXPECT_EQ(offline(), 1u);
  for (const auto& [id, recovery] : mirror.recoveries) {
    EXPECT_EQ(recovery.evidence, Evidence::kSilence);
  }
  ignore_everything_from_here();
}

TEST_F(BrakeTest, NobodyIsReclaimedWhileTheStoreTakesNoWrites) {
  fleet(5);
  for (const char* name : {"w0", "w1", "w2"}) last_word(name);
  advance(policy.worker_lease);
  take_self_check();
  step(SelfCheckResult{true});
  EXPECT_EQ(offline(), 1u);
  step(StoreHealth{false});
  advance(minutes(10));
  EXPECT_EQ(offline(), 1u);
  step(StoreHealth{true});
  advance(policy.worker_lease - micros(1));
  EXPECT_EQ(offline(), 1u) << "everybody gets a full lease first";
  advance(seconds(1));
  EXPECT_EQ(offline(), 2u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, AStoreThatIsWellAllTheTimeExcusesNoSilence) {
  fleet(3);
  last_word("w0");
  for (int i = 0; i < 6; ++i) {
    advance(policy.worker_lease / 6);
    step(StoreHealth{true});
  }
  EXPECT_EQ(offline(), 1u);
  ignore_everything_from_here();
}

TEST_F(BrakeTest, ASilenceThatEndsWhileTheStoreTakesNoWritesEngagesIt) {
  fleet(3);
  last_word("w0");
  advance(policy.worker_lease / 2);
  step(StoreHealth{false});
  advance(policy.worker_lease / 2);
  EXPECT_EQ(offline(), 0u);
  EXPECT_EQ(text(take(EventKind::kBrakeEngaged), "phase"), "holding");
  take_self_check();
  ignore_everything_from_here();
}

TEST_F(BrakeTest, AFleetOfOneHasARateToo) {
  for (const std::uint64_t life : {1u, 2u}) {
    Hand& w = join(worker_info("w"), {life});
    last_word("w");
    step(StoreHealth{false});
    advance(policy.worker_lease);
    step(StoreHealth{true});
    step(SelfCheckResult{true});
    advance(policy.worker_lease);
    const bool was_first = life == 1;
    EXPECT_EQ(state_of(w) == WorkerState::kOffline, was_first);
  }
  // 15% of one in a minute is one in 400 seconds.
  EXPECT_EQ(offline(), 0u);
  advance(seconds(400) - policy.worker_lease * 2 - micros(1));
  EXPECT_EQ(offline(), 0u);
  advance(micros(1));
  EXPECT_EQ(offline(), 1u);
  ignore_everything_from_here();
}

}  // namespace
}  // namespace vortex::core
