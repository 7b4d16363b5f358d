// What supervisors say counts once, and proof covers every life of the process that died.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Supervisors : public LifeTest {
 protected:
  // It registered anew by itself, as after a reset.
  Hand& come_back(const char* name, Incarnation life) {
    Hand& hand = hands.at(name);
    hand.silent = false;
    hand.poll = {};
    hand.refusals.clear();
    hand.held.clear();
    hand.seq = 0;
    hand.ack = {};
    hand.incarnation = life;
    ask<Registered>(RegisterWorker{{}, hand.info, life});
    report(hand, {});
    return hand;
  }
  static LifecycleEntry entry(std::uint64_t number, EventKind kind, Incarnation life = {}) {
    return {number, kind, WorkerId("w"), life, {{"attempt", std::int64_t{1}}}};
  }
  void tell(const std::string& journal, std::vector<LifecycleEntry> entries) {
    ask_done(TellLifecycle{{}, "host/w", journal, std::move(entries)});
  }
  void lose_by_silence(const char* name) {
    hush(hands.at(name));
    advance(policy.worker_lease + seconds(1));
  }
};

TEST_F(Supervisors, ProofCountsAtOnceAfterTheWorkerRegisteredAnewByItself) {
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerReset});
  Hand& w = join("w");
  hush(w);
  ask_done(ResetWorker{{}, w.id()});
  come_back("w", {2});
  const RunId run = submit({node("n")});
  take_and_start(w);
  hush(w);
  ask_done(WorkerExited{{}, w.id(), {2}, {}, {{1}, {2}}, {}});
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
}

TEST_F(Supervisors, ProofNamingALifeThatNeverRegisteredCoversTheOneThatDid) {
  ignore_comings_and_goings();
  Hand& w = join("w");
  hush(w);
  ask_done(WorkerExited{{}, w.id(), {7}, {}, {{7}, {1}}, {}});
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
}

TEST_F(Supervisors, ProofOfAnotherProcessSaysNothingAboutThisOne) {
  Hand& w = join(worker_info("w"), {5});
  EXPECT_EQ(ask_in_vain(WorkerExited{{}, w.id(), {7}, {}, {{3}, {7}}, {}}),
            RefusalKind::kWrongState);
  ask_done(WorkerExited{{}, w.id(), {4}, {}, {{3}, {4}}, {}});
  EXPECT_EQ(state_of(w), WorkerState::kIdle);
}

TEST_F(Supervisors, M06_EntriesOfAJournalBecomeEventsInOrderAndOnce) {
  const auto kinds = [&] {
    std::vector<EventKind> out;
    for (const Event& event : events) {
      if (event.worker == WorkerId("w")) out.push_back(event.kind);
    }
    events.clear();
    return out;
  };
  tell("j", {entry(1, EventKind::kWorkerSpawn), entry(2, EventKind::kWorkerSpawnRetry)});
  EXPECT_EQ(kinds(), (std::vector{EventKind::kWorkerSpawn, EventKind::kWorkerSpawnRetry}));
  tell("j", {entry(2, EventKind::kWorkerSpawnRetry), entry(3, EventKind::kWorkerSpawnFailed)});
  EXPECT_EQ(kinds(), std::vector{EventKind::kWorkerSpawnFailed});
  reload();  // a new leader knows what was taken
  tell("j", {entry(3, EventKind::kWorkerSpawnFailed)});
  EXPECT_TRUE(kinds().empty());
  tell("another", {entry(1, EventKind::kWorkerSpawn)});
  EXPECT_EQ(kinds(), std::vector{EventKind::kWorkerSpawn});
}

TEST_F(Supervisors, M06_AFailedSpawnIsAnErrorAndARetryAWarning) {
  tell("j", {entry(1, EventKind::kWorkerSpawnRetry), entry(2, EventKind::kWorkerSpawnFailed)});
  EXPECT_EQ(take(EventKind::kWorkerSpawnRetry).severity, Severity::kWarning);
  EXPECT_EQ(take(EventKind::kWorkerSpawnFailed).severity, Severity::kError);
}

TEST_F(Supervisors, M06_ACrashIsToldOnceWhoeverIsFirst) {
  ignore({EventKind::kWorkerOffline, EventKind::kMachineOffline});
  Hand& w = join("w");
  hush(w);
  ask_done(WorkerExited{{}, w.id(), {1}, {}, {}, ProcessEnd{true, 9}});
  EXPECT_EQ(number(take(EventKind::kWorkerCrash), "signal"), 9);
  tell("j", {entry(1, EventKind::kWorkerCrash, {1})});
  EXPECT_EQ(count(EventKind::kWorkerCrash), 0u);

  come_back("w", {2});
  hush(w);
  tell("j", {entry(2, EventKind::kWorkerCrash, {2})});
  take(EventKind::kWorkerCrash);
  reload();
  ask_done(WorkerExited{{}, w.id(), {2}, {}, {}, ProcessEnd{true, 9}});
  EXPECT_EQ(count(EventKind::kWorkerCrash), 0u);
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
}

TEST_F(Supervisors, M06_ACrashOfAWorkerLongDeclaredDeadIsStillTold) {
  ignore({EventKind::kWorkerOffline, EventKind::kMachineOffline, EventKind::kHeartbeatStale});
  join("w");
  lose_by_silence("w");
  tell("j", {entry(1, EventKind::kWorkerCrash, {1})});
  take(EventKind::kWorkerCrash);
}

TEST_F(Supervisors, M06_ACrashIsToldAlsoWhenTheNextLifeRegisteredFirst) {
  ignore({EventKind::kWorkerOffline, EventKind::kMachineOffline, EventKind::kWorkerExit});
  Hand& w = join("w");
  hush(w);
  come_back("w", {2});
  w.refusals.clear();  // the open call of the life before
  tell("j", {entry(1, EventKind::kWorkerCrash, {1})});
  take(EventKind::kWorkerCrash);
}

TEST_F(Supervisors, OnlySoManyJournalsAreRemembered) {
  for (int i = 0; i < 10'001; ++i) {
    now = now + millis(1);
    raw(TellLifecycle{{}, "host/" + std::to_string(i), "j", {}});
  }
  EXPECT_EQ(state->journals.size(), 10'000u);
  EXPECT_FALSE(state->journals.contains("host/0"));
  EXPECT_EQ(mirror.journals.size(), 10'000u);
}

TEST_F(Supervisors, C05_LossesAreCountedOverResetsAndRestarts) {
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerReset});
  Hand& w = join("w");
  lose_by_silence("w");
  EXPECT_EQ(row(w).times_lost, 1u);
  come_back("w", {2});
  hush(w);
  ask_done(ResetWorker{{}, w.id()});  // an operator's wish is no loss, and forgives none
  EXPECT_EQ(row(w).times_lost, 1u);
  reload();
  come_back("w", {3});
  lose_by_silence("w");
  EXPECT_EQ(row(w).times_lost, 2u);
}

TEST_F(Supervisors, C05_AWorkerThatIsLostAgainAndAgainIsFlapping) {
  ignore_comings_and_goings();
  Hand& w = join("w");
  for (std::uint64_t life = 2; life <= 3; ++life) {
    lose_by_silence("w");
    come_back("w", {life});
  }
  EXPECT_EQ(count(EventKind::kWorkerFlapping), 0u);
  reload();  // the losses before are not forgotten
  lose_by_silence("w");
  const Event event = take(EventKind::kWorkerFlapping);
  EXPECT_EQ(event.severity, Severity::kWarning);
  EXPECT_EQ(event.worker, w.id());
  EXPECT_EQ(number(event, "losses"), 3);
  EXPECT_EQ(number(event, "window_secs"), 3'600);
}

TEST_F(Supervisors, C05_LossesLongAgoDoNotMakeItFlapping) {
  ignore_comings_and_goings();
  join("w");
  for (std::uint64_t life = 2; life <= 5; ++life) {
    lose_by_silence("w");
    come_back("w", {life});
    advance(policy.flapping_window / 2);
  }
  EXPECT_EQ(count(EventKind::kWorkerFlapping), 0u);
}

TEST_F(Supervisors, C04_AHealthPassNamesEveryMachineOfAMarkedWorker) {
  ignore_comings_and_goings();
  WorkerInfo one = worker_info("one");
  WorkerInfo two = worker_info("two");
  one.machine = two.machine = MachineId("shared");
  Hand& lost = join(one);
  join(two);  // keeps the machine online
  Hand& alone = join("alone");
  advance(policy.health_check_interval);
  events.clear();
  kill(lost);
  kill(alone);
  EXPECT_TRUE(mirror.machines.at(MachineId("shared")).online);
  advance(policy.health_check_interval);
  const Event pass = take(EventKind::kHealthPass);
  EXPECT_EQ(number(pass, "marked_offline"), 2);
  EXPECT_EQ(text(pass, "machines"), "host-of-alone,shared");
}

// ---- Checkpoints ----

class Checkpoints : public LifeTest {
 protected:
  Checkpoints() { ignore_comings_and_goings(); }
  CheckpointClaim by(const Hand& hand, const Attempt& attempt) {
    return {hand.id(), hand.incarnation, attempt};
  }
};

TEST_F(Checkpoints, V05_OneInPiecesIsHandedToTheNextAttemptByItsNumber) {
  Hand& w = join("w");
  submit({node("n")});
  const Attempt a = take_and_start(w);
  report(w, {{a, Checkpoint{"small"}}});
  ask_done(KeepCheckpoint{{}, by(w, a), {77, 20'000'000}});
  kill(w);
  reload();
  Hand& next = join("next");
  ASSERT_EQ(next.assigned.size(), 1u);
  EXPECT_EQ(next.assigned.front().uploaded, (CheckpointRef{77, 20'000'000}));
  EXPECT_EQ(next.assigned.front().checkpoint, "");
  // A small one takes its place again.
  const Attempt b = take_and_start(next);
  report(next, {{b, Checkpoint{"small again"}}});
  kill(next);
  Hand& last = join("last");
  EXPECT_EQ(last.assigned.front().uploaded, CheckpointRef{});
  EXPECT_EQ(last.assigned.front().checkpoint, "small again");
  complete(last, take_assignment(last));
}

TEST_F(Checkpoints, OnlyTheHolderOfTheAttemptMaySaveOne) {
  Hand& w = join("w");
  Hand& other = join("other");
  submit({node("n")});
  const Attempt a = take_and_start(w);
  const auto refused = [&](const CheckpointClaim& claim) {
    return ask_in_vain(KeepCheckpoint{{}, claim, {1, 10}}) == RefusalKind::kLeaseNotHeld &&
           ask_in_vain(RefuseCheckpoint{{}, claim, "too large", 10}) == RefusalKind::kLeaseNotHeld;
  };
  EXPECT_TRUE(refused(by(other, a)));
  EXPECT_TRUE(refused({w.id(), {9}, a}));
  EXPECT_TRUE(refused(by(w, {a.task, {2}})));
  kill(w);
  EXPECT_TRUE(refused(by(w, a)));
  EXPECT_TRUE(mirror.data.empty());
  complete(other, take_assignment(other));
}

TEST_F(Checkpoints, AnEmptyOneDoesNotEraseTheLast) {
  Hand& w = join("w");
  const RunId run = submit({node("n")});
  const Attempt a = take_and_start(w);
  report(w, {{a, Checkpoint{"kept"}}, {a, Checkpoint{""}}});
  EXPECT_EQ(mirror.data.at({run, 0}).checkpoint, "kept");
  complete(w, a);
}

TEST_F(Checkpoints, ARefusedOneIsAWarningAndTheOneBeforeStays) {
  Hand& w = join("w");
  const RunId run = submit({node("n")});
  const Attempt a = take_and_start(w);
  ask_done(KeepCheckpoint{{}, by(w, a), {77, 10}});
  ask_done(RefuseCheckpoint{{}, by(w, a), "too large", 100'000'000});
  const Event event = take(EventKind::kCheckpointRefused);
  EXPECT_EQ(event.severity, Severity::kWarning);
  EXPECT_EQ(number(event, "bytes"), 100'000'000);
  EXPECT_EQ(text(event, "reason"), "too large");
  EXPECT_EQ(mirror.data.at({run, 0}).uploaded, (CheckpointRef{77, 10}));
  complete(w, a);
}

TEST_F(Checkpoints, TheOneOfACompletedTaskIsGivenUp) {
  Hand& w = join("w");
  const RunId run = submit({node("n")});
  const Attempt a = take_and_start(w);
  ask_done(KeepCheckpoint{{}, by(w, a), {77, 10}});
  complete(w, a);
  EXPECT_FALSE(mirror.data.at({run, 0}).uploaded);
}

}  // namespace
}  // namespace vortex::core
