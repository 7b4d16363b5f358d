// Telling dead from quiet: hints, silence and proof, and our own lateness.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class EvidenceTest : public LifeTest {
 protected:
  EvidenceTest() { ignore_comings_and_goings(); }

  static WorkerInfo probed(const std::string& name, std::uint32_t slots = 1) {
    WorkerInfo info = worker_info(name, slots);
    info.address = "10.0.0.1:7001";
    return info;
  }
  void answer_probe(ProbeOutcome outcome) {
    const Probe probe = take_probe();
    step(ProbeResult{probe.worker, probe.incarnation, outcome});
  }
  std::size_t recoveries() const { return mirror.recoveries.size(); }
};

TEST_F(EvidenceTest, AClosedConnectionAloneOnlyStopsNewWork) {
  Hand& w = join(probed("w", 4));
  submit({node("a")});
  take_and_start(w);
  cut(w);
  take_probe();
  EXPECT_TRUE(row(w).suspect);
  submit({node("b")});
  advance(seconds(30));
  probes.clear();  // it is probed at every pass while it is quiet
  EXPECT_EQ(recoveries(), 0u);
  EXPECT_EQ(state_of(w), WorkerState::kRunning);
  advance(policy.worker_lease);
  probes.clear();
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
  EXPECT_EQ(mirror.recoveries.begin()->second.evidence, Evidence::kSilence);
}

TEST_F(EvidenceTest, ClosedAndRefusedIsAHintActedOnAfterTheGrace) {
  Hand& w = join(probed("w"));
  const RunId run = submit({node("a")});
  take_and_start(w);
  cut(w);
  answer_probe(ProbeOutcome::kRefused);
  advance(policy.reconnect_grace - millis(1));
  EXPECT_EQ(recoveries(), 0u);
  advance(millis(1));
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
  EXPECT_EQ(mirror.recoveries.begin()->second.evidence, Evidence::kHint);
  EXPECT_EQ(row(TaskId{run, 0}).counters.crashes, 1u);
}

TEST_F(EvidenceTest, AWorkerHeardAgainWithinTheGraceKeepsEverything) {
  Hand& w = join(probed("w"));
  submit({node("a")});
  const Attempt a = take_and_start(w);
  cut(w);
  answer_probe(ProbeOutcome::kRefused);
  advance(policy.reconnect_grace / 2);
  w.silent = false;
  advance(seconds(20));
  EXPECT_EQ(recoveries(), 0u);
  EXPECT_FALSE(row(w).suspect);
  take(EventKind::kHeartbeatRecovered);
  complete(w, a);
}

TEST_F(EvidenceTest, AProbeThatTimesOutOrIsAnsweredProvesNothing) {
  Hand& w = join(probed("w"));
  cut(w);
  answer_probe(ProbeOutcome::kTimedOut);
  advance(seconds(5));
  EXPECT_EQ(recoveries(), 0u);
  step(ProbeResult{w.id(), w.incarnation, ProbeOutcome::kAnswered});
  EXPECT_TRUE(row(w).suspect);
  w.silent = false;
  advance(seconds(5));
  EXPECT_FALSE(row(w).suspect);
  take(EventKind::kHeartbeatRecovered);
}

TEST_F(EvidenceTest, AProbeSaysNothingAgainstAWorkerWithAnOpenCall) {
  Hand& w = join(probed("w"));
  step(ProbeResult{w.id(), w.incarnation, ProbeOutcome::kRefused});
  advance(seconds(10));
  EXPECT_FALSE(row(w).suspect);
  EXPECT_EQ(recoveries(), 0u);
}

TEST_F(EvidenceTest, ExclusiveTasksAreSparedByAHintAndWaitForSilence) {
  Hand& w = join(probed("w", 4));
  NodeSpec exclusive = node("exclusive");
  exclusive.exclusive = true;
  const RunId run = submit({exclusive, node("plain")});
  take_and_start(w);
  take_and_start(w);
  cut(w);
  answer_probe(ProbeOutcome::kRefused);
  advance(policy.reconnect_grace);
  EXPECT_EQ(state_of({run, 0}), TaskState::kRunning);
  EXPECT_EQ(state_of({run, 1}), TaskState::kQueued);
  EXPECT_NE(state_of(w), WorkerState::kOffline);
  EXPECT_EQ(count(EventKind::kWorkerOffline), 0u) << "it is not offline, and the log says so";
  advance(policy.worker_lease);
  probes.clear();
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
}

TEST_F(EvidenceTest, AHintThatHasNothingLeftToTakeLeavesNoLedgerEntries) {
  Hand& w = join(probed("w", 4));
  NodeSpec exclusive = node("exclusive");
  exclusive.exclusive = true;
  submit({exclusive});
  take_and_start(w);
  cut(w);
  answer_probe(ProbeOutcome::kRefused);
  advance(seconds(30));
  answer_probe(ProbeOutcome::kRefused);  // it is still quiet, and probed again
  probes.clear();
  advance(seconds(5));
  EXPECT_EQ(recoveries(), 0u);
  probes.clear();
}

TEST_F(EvidenceTest, ProofIsActedOnAtOnceEvenForExclusiveTasks) {
  Hand& w = join("w");
  NodeSpec exclusive = node("exclusive");
  exclusive.exclusive = true;
  const RunId run = submit({exclusive});
  take_and_start(w);
  kill(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
}

TEST_F(EvidenceTest, ANewIncarnationIsProofAgainstTheOldOne) {
  Hand& old = join("w");
  const RunId run = submit({node("a")});
  const Attempt first = take_and_start(old);
  Hand zombie = old;
  Hand& fresh = join(old.info, {2});
  EXPECT_EQ(mirror.recoveries.begin()->second.evidence, Evidence::kNewIncarnation);
  EXPECT_EQ(row(TaskId{run, 0}).counters.crashes, 1u);
  EXPECT_EQ(fresh.assigned.front().attempt.epoch, (Epoch{2}));
  SyncRequest late = request_of(zombie);
  late.reports = {{first, Completed{}}};
  const auto refusal = ask<SyncRefusal>(Sync{{}, late});
  EXPECT_EQ(refusal.why, SyncRefusal::Why::kStaleIncarnation);
  EXPECT_EQ(refusal.current, (Incarnation{2}));
  complete(fresh, take_assignment(fresh));
}

TEST_F(EvidenceTest, OurOwnAbsenceIsAddedToEveryDeadline) {
  Hand& w = join("w");
  hush(w);
  advance(seconds(50));
  vanish(seconds(500));
  step(Tick{});
  EXPECT_EQ(recoveries(), 0u);
  advance(seconds(9));
  EXPECT_EQ(recoveries(), 0u);
  advance(seconds(2));
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
}

TEST_F(EvidenceTest, AfterAStoreOutageEverybodyHasAFullLease) {
  Hand& w = join("w");
  hush(w);
  advance(seconds(50));
  step(StoreHealth{false});
  step(StoreHealth{true});
  advance(policy.worker_lease - millis(1));
  EXPECT_EQ(recoveries(), 0u);
  advance(millis(1));
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
}

TEST_F(EvidenceTest, WhileTheStoreTakesNoWritesNobodyIsLostBySilence) {
  Hand& w = join("w");
  hush(w);
  step(StoreHealth{false});
  advance(policy.worker_lease * 3);
  EXPECT_EQ(recoveries(), 0u);
  take(EventKind::kBrakeEngaged);
  take_self_check();
  step(StoreHealth{true});
  step(SelfCheckResult{true});
  take(EventKind::kBrakeEngaged);
  advance(policy.worker_lease - seconds(1));
  EXPECT_EQ(recoveries(), 0u);
  advance(seconds(3));
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
  take(EventKind::kBrakeReleased);
}

TEST_F(EvidenceTest, UnderANewLeaderEverybodyHasAFullLease) {
  Hand& w = join("w");
  submit({node("a")});
  take_and_start(w);
  hush(w);
  advance(seconds(59));
  reload();
  advance(policy.worker_lease - millis(1));
  EXPECT_EQ(recoveries(), 0u);
  advance(millis(1));
  EXPECT_EQ(recoveries(), 1u);
}

TEST_F(EvidenceTest, A05_AQuietWorkerIsProbedAtTheHealthPass) {
  Hand& w = join(probed("w"));
  hush(w);
  advance(policy.health_check_interval * 2);
  const Probe probe = take_probe();
  EXPECT_EQ(probe.worker, w.id());
  EXPECT_EQ(probe.address, "10.0.0.1:7001");
  step(ProbeResult{w.id(), w.incarnation, ProbeOutcome::kTimedOut});
  EXPECT_TRUE(row(w).suspect);
  submit({node("a")});
  w.silent = false;
  advance(seconds(1));
  take(EventKind::kHeartbeatRecovered);
  complete(w, take_assignment(w));
}

TEST_F(EvidenceTest, EverySuspicionIsToldOnceWithItsReason) {
  Hand& w = join(probed("w"));
  cut(w);
  take_probe();
  EXPECT_EQ(text(take(EventKind::kHeartbeatStale), "reason"), "its connection closed");
  step(ProbeResult{w.id(), w.incarnation, ProbeOutcome::kTimedOut});
  EXPECT_EQ(count(EventKind::kHeartbeatStale), 0u);
}

TEST_F(EvidenceTest, HeartbeatsAreWrittenOncePerHalfAnInterval) {
  Hand& w = join("w");
  const Instant first = now;
  EXPECT_EQ(row(w).last_heartbeat, first);
  advance(policy.heartbeat_interval / 2 - micros(1));
  report(w, {});
  EXPECT_EQ(row(w).last_heartbeat, first);
  advance(micros(1));
  report(w, {});
  EXPECT_EQ(row(w).last_heartbeat, now);
}

TEST_F(EvidenceTest, ThatASuspectedWorkerWasHeardAgainIsWrittenAtOnce) {
  Hand& w = join(probed("w"));
  cut(w);
  take_probe();
  EXPECT_TRUE(row(w).suspect);
  w.silent = false;
  report(w, {});
  EXPECT_FALSE(row(w).suspect);
  take(EventKind::kHeartbeatRecovered);
}

TEST_F(EvidenceTest, NobodyWhoHasACallOpenOrSpokeLatelyIsProbed) {
  join(probed("open"));
  Hand& gone = join(probed("gone"));
  kill(gone);
  advance(policy.health_check_interval * 3);
  EXPECT_TRUE(probes.empty());
}

}  // namespace
}  // namespace vortex::core
