// The exchange with workers: repeats are harmless, the old is refused, and nothing is lost between.

#include "tests/core/digest.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class SyncTest : public LifeTest {
 protected:
  SyncTest() { ignore({EventKind::kTaskRequeued, EventKind::kTaskReassigned}); }
  // The worker's polls run out and come again, so it has said all it has to say.
  void next_poll() { advance(policy.heartbeat_interval); }
};

TEST_F(SyncTest, AnAssignmentIsRepeatedUntilItIsAcknowledged) {
  Hand& w = join("w");
  hush(w);
  const RunId run = submit({node("a")});  // the answer that carries it is lost
  EXPECT_EQ(state_of({run, 0}), TaskState::kScheduled);
  w.silent = false;
  step(Tick{});
  const Attempt a = take_assignment(w);
  EXPECT_EQ(a.epoch, (Epoch{1}));
  next_poll();  // it names the task now
  EXPECT_TRUE(w.assigned.empty());
  complete(w, a);
  EXPECT_EQ(row(TaskId{run, 0}).counters.attempts, 1u);
}

TEST_F(SyncTest, WhatWasLostOnTheWayIsReleasedAndNobodyIsBlamed) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_assignment(w);
  w.drop(a);  // it acts on the answer and yet does not hold the task
  next_poll();
  const Attempt again = take_assignment(w);
  EXPECT_EQ(again.epoch, (Epoch{2}));
  EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kLostInTransit);
  EXPECT_EQ(row(TaskId{run, 0}).counters.releases, 1u);
  complete(w, again);
}

TEST_F(SyncTest, AStartedTaskThatIsNoLongerNamedIsReleasedToo) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  w.drop(a);
  next_poll();
  EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kLostInTransit);
  complete(w, take_assignment(w));
}

TEST_F(SyncTest, ACallThatSaysNothingOfWhatIsHeldLosesNothing) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  report(w, {});
  report(w, {{a, Started{}}});
  complete(w, a);
}

TEST_F(SyncTest, AnOldMessageChangesNothing) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  const std::uint64_t before = digest(*state);
  for (const std::uint64_t back : {0u, 1u}) {
    SyncRequest old = request_of(w);
    old.seq = w.seq - back;
    old.reports = {{a, Completed{}}};
    EXPECT_EQ(ask<SyncRefusal>(Sync{{}, old}).why, SyncRefusal::Why::kOldMessage);
  }
  EXPECT_EQ(digest(*state), before);
  EXPECT_EQ(state_of({run, 0}), TaskState::kRunning);
  complete(w, a);
}

TEST_F(SyncTest, ARepeatedReportCountsOnce) {
  Hand& w = join("w", 2);
  const RunId run = submit({with_retries(node("a"), 3), node("b")});
  const Attempt a = take_and_start(w);
  const Attempt b = take_and_start(w);
  report(w, {{a, Started{}}, {a, Started{}}});
  EXPECT_EQ(take_all(EventKind::kTaskStarted).size(), 2u);
  complete(w, b);
  report(w, {{b, Completed{"other"}}});  // its first answer was lost
  EXPECT_EQ(take_all(EventKind::kTaskComplete).size(), 1u);
  fail(w, a);
  report(w, {{a, Failed{}}});
  EXPECT_EQ(take_stale(w), a);
  take(EventKind::kStaleResultRefused);
  EXPECT_EQ(row(TaskId{run, 0}).counters.failures, 1u);
  take(EventKind::kTaskFailed);
  advance(seconds(2));
  complete(w, take_assignment(w));
}

TEST_F(SyncTest, TwoResultsInOneCallAreOneResult) {
  Hand& w = join("w");
  const RunId run = submit({node("a"), node("b", {"a"})});
  const Attempt a = take_and_start(w);
  w.drop(a);
  report(w, {{a, Completed{"first"}}, {a, Completed{"second"}}, {a, Failed{}}});
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  EXPECT_EQ(mirror.data.at({run, 0}).outputs, "first");
  complete(w, take_assignment(w));
}

TEST_F(SyncTest, AStaleResultIsRefusedAndItsHolderIsTold) {
  Hand& deaf = join("deaf");
  const RunId run = submit({node("a")});
  const Attempt first = take_assignment(deaf);
  Hand& other = join("other");
  advance(policy.scheduled_timeout + policy.worker_lease);  // it did not obey the stop either
  advance(seconds(2));                                      // the backoff
  deaf.stops.clear();
  take(EventKind::kTaskTimeout);
  deaf.stale.clear();
  const Attempt second = take_and_start(other);
  report(deaf, {{first, Checkpoint{"old"}}, {first, Completed{"old"}}});
  EXPECT_EQ(take_stale(deaf), first);
  deaf.stale.clear();  // once per report
  take(EventKind::kStaleResultRefused);
  EXPECT_EQ(state_of({run, 0}), TaskState::kRunning);
  EXPECT_FALSE(mirror.data.contains({run, 0}));
  complete(other, second, "new");
  EXPECT_EQ(mirror.data.at({run, 0}).outputs, "new");
}

TEST_F(SyncTest, AnotherWorkersAttemptIsNotMineToReport) {
  Hand& mine = join("mine");
  submit({node("a")});
  const Attempt a = take_and_start(mine);
  Hand& thief = join("thief");
  report(thief, {{a, Completed{}}});
  EXPECT_EQ(take_stale(thief), a);
  take(EventKind::kStaleResultRefused);
  complete(mine, a);
}

TEST_F(SyncTest, WhatAWorkerNamesAndDoesNotHoldIsStale) {
  Hand& w = join("w");
  const Attempt unknown{{RunId{77}, 3}, Epoch{9}};
  w.held.push_back({unknown, Progress{5, "x"}});
  next_poll();
  EXPECT_EQ(take_stale(w), unknown);
}

TEST_F(SyncTest, AParkedCallIsAnsweredAfterItsWaitAndNotBefore) {
  Hand& w = join("w");
  const std::uint64_t seq = w.seq;
  advance(policy.heartbeat_interval - millis(1));
  EXPECT_EQ(w.seq, seq);
  advance(millis(1));
  EXPECT_EQ(w.seq, seq + 1);
}

TEST_F(SyncTest, AfterACallTheCoreWantsToSleepUntilADeadline) {
  Hand& w = join("w");
  next_poll();
  EXPECT_GT(state->next_wake(), now);
  raw(Sync{{}, request_of(w)});
  ++w.seq;
  EXPECT_GT(state->next_wake(), now);
}

TEST_F(SyncTest, OnlyOneCallWaitsAtATime) {
  Hand& w = join("w");
  poll(w);
  EXPECT_EQ(take_refusal(w), SyncRefusal::Why::kOldMessage);
  submit({node("a")});
  complete(w, take_assignment(w));
}

TEST_F(SyncTest, RegisteringTheSameLifeAgainLosesNothing) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  const std::uint64_t before = digest(*state);
  ask<Registered>(RegisterWorker{{}, w.info, w.incarnation});
  EXPECT_EQ(digest(*state), before);
  complete(w, a);
}

TEST_F(SyncTest, OnlyWhoHasTheSessionSpeaksForALife) {
  RegisterWorker first{{}, worker_info("w"), {5}, "hash"};
  EXPECT_FALSE(ask<Registered>(first).repeated);
  const std::uint64_t before = digest(*state);
  SyncRequest request;
  request.worker = WorkerId("w");
  request.incarnation = {5};
  request.seq = 9;
  EXPECT_EQ(ask<SyncRefusal>(Sync{{}, request}).why, SyncRefusal::Why::kNoSession);
  EXPECT_EQ(ask<SyncRefusal>(Sync{{}, request, "other"}).why, SyncRefusal::Why::kWrongSession);
  EXPECT_EQ(ask_in_vain(WorkerExited{{}, WorkerId("w"), {5}}), RefusalKind::kNoSession);
  EXPECT_EQ(ask_in_vain(WorkerExited{{}, WorkerId("w"), {5}, {}, {}, {}, "other"}),
            RefusalKind::kWrongSession);
  EXPECT_EQ(ask_in_vain(first), RefusalKind::kStaleIncarnation);
  first.presented = "other";
  EXPECT_EQ(ask_in_vain(first), RefusalKind::kStaleIncarnation);
  EXPECT_EQ(digest(*state), before) << "nothing was changed";
  first.presented = "hash";
  first.session_hash = "new";
  EXPECT_TRUE(ask<Registered>(first).repeated);
  EXPECT_EQ(digest(*state), before) << "it keeps its session";
  ignore_comings_and_goings();
  ask_done(WorkerExited{{}, WorkerId("w"), {5}, {}, {}, {}, "hash"});
}

TEST_F(SyncTest, APresentLifeIsReplacedByTheTokenThatRegisteredIt) {
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerFlapping});
  ask<Registered>(RegisterWorker{{}, worker_info("w"), {5}, "hash", {}, "one", false});
  const RegisterWorker by_two{{}, worker_info("w"), {6}, "hash2", {}, "two", false};
  EXPECT_EQ(ask_in_vain(by_two), RefusalKind::kWorkerTaken);
  RegisterWorker with_session = by_two;
  with_session.presented = "hash";
  ask<Registered>(with_session);
  RegisterWorker by_one{{}, worker_info("w"), {7}, "hash3", {}, "one", false};
  EXPECT_EQ(ask_in_vain(by_one), RefusalKind::kWorkerTaken) << "it is the other's now";
  by_one.may_replace = true;
  ask<Registered>(by_one);
  ask_done(WorkerExited{{}, WorkerId("w"), {7}, {}, {}, {}, "hash3"});
  ask<Registered>(RegisterWorker{{}, worker_info("w"), {8}, "hash4", {}, "two", false});
}

TEST_F(SyncTest, IncarnationsOnlyGoForward) {
  ignore_comings_and_goings();
  Hand& w = join(worker_info("w"), {5});
  const auto refusal = ask<Refusal>(RegisterWorker{{}, w.info, {4}});
  EXPECT_EQ(refusal.kind, RefusalKind::kStaleIncarnation);
  EXPECT_EQ(refusal.incarnation, (Incarnation{5}));
  SyncRequest early = request_of(w);
  early.incarnation = {6};
  EXPECT_EQ(ask<SyncRefusal>(Sync{{}, early}).why, SyncRefusal::Why::kUnknownWorker);
  kill(w);
  EXPECT_EQ(ask<SyncRefusal>(Sync{{}, request_of(w)}).why, SyncRefusal::Why::kSessionEnded);
  EXPECT_EQ(ask_in_vain(RegisterWorker{{}, w.info, {5}}), RefusalKind::kStaleIncarnation);
  join(w.info, {6});
}

TEST_F(SyncTest, ADrainingWorkerTakesNothingNewAndStillReports) {
  ignore_comings_and_goings();
  Hand& w = join("w", 4);
  submit({with_retries(node("a"), 0), node("b", {"a"})});
  const Attempt a = take_and_start(w);
  w.leaving = Leaving::kDraining;
  report(w, {});
  take(EventKind::kWorkerDraining);
  submit({node("c")});
  EXPECT_TRUE(w.assigned.empty());
  end(w, a, Failed{});
  take(EventKind::kTaskFailed);
  take(EventKind::kTaskDeadLettered);
  EXPECT_TRUE(w.held.empty());
  Hand& other = join("other");
  complete(other, take_assignment(other));
}

TEST_F(SyncTest, C03_AGoodbyeIsVisibleAtOnceAndAnswered) {
  ignore_comings_and_goings();
  Hand& w = join("w");
  w.leaving = Leaving::kGone;
  report(w, {});
  EXPECT_EQ(state_of(w), WorkerState::kInactive);
  EXPECT_FALSE(mirror.machines.at(MachineId("host-of-w")).online);
  EXPECT_EQ(take_refusal(w), SyncRefusal::Why::kOldMessage);
  hush(w);
  advance(policy.worker_lease * 2);
  EXPECT_EQ(state_of(w), WorkerState::kInactive);
  EXPECT_EQ(row(w).times_lost, 0u);
}

TEST_F(SyncTest, M03_HeartbeatsCarryStepAndPercent) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  w.show(a, {42, "training"});
  next_poll();
  EXPECT_EQ(row(TaskId{run, 0}).percent, 42u);
  EXPECT_EQ(row(TaskId{run, 0}).step, "training");
  complete(w, a);
}

TEST_F(SyncTest, S01_RegistrationKeepsWhatDiscoveryAsksFor) {
  WorkerInfo info = worker_info("agent");
  info.zone = "eu-1";
  info.group = "ingest";
  info.address = "10.0.0.9:80";
  info.metadata = R"({"v":1})";
  Hand& w = join(info);
  EXPECT_EQ(*row(w).info, info);
  EXPECT_EQ(row(w).registered_at, now);
  EXPECT_EQ(row(w).last_heartbeat, now);
  ignore_comings_and_goings();
  info.zone = "eu-2";
  EXPECT_EQ(row(join(info, {2})).info->zone, "eu-2");
}

TEST_F(SyncTest, OutputsAreKeptAndTooLargeOnesFailTheTask) {
  policy.outputs_bytes_max = state->policy.outputs_bytes_max = 10;
  Hand& w = join("w", 2);
  const RunId run = submit({with_retries(mapped("m", range(1, 2)), 0)});
  complete(w, take_and_start(w), R"({"n":1})");
  EXPECT_EQ(mirror.data.at({run, 0}).outputs, R"({"n":1})");
  complete(w, take_and_start(w), "far too many bytes");
  EXPECT_EQ(state_of({run, 1}), TaskState::kFailed);
  take(EventKind::kTaskFailed);
  take(EventKind::kTaskDeadLettered);
}

TEST_F(SyncTest, ATooLargeCheckpointIsNotKept) {
  policy.checkpoint_bytes_max = state->policy.checkpoint_bytes_max = 10;
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  report(w, {{a, Checkpoint{"small"}}, {a, Checkpoint{"far too many bytes"}}});
  take(EventKind::kCheckpointRefused);
  EXPECT_EQ(mirror.data.at({run, 0}).checkpoint, "small");
  complete(w, a);
}

TEST_F(SyncTest, AnExpressionWithoutAValueFailsTheAttemptAndBlamesNoWorker) {
  policy.cordon_after = state->policy.cordon_after = 1;
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 0)});
  const Attempt a = take_assignment(w);
  w.drop(a);
  ask_done(Unsent{{}, w.id(), {state->term, 1}, {{a, "cannot resolve env.N"}}, {}});
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(row(TaskId{run, 0}).error_message, "cannot resolve env.N");
  EXPECT_FALSE(row(w).cordoned) << "the worker was never sent it";
  take(EventKind::kTaskFailed);
  take(EventKind::kTaskDeadLettered);
  ask_done(Unsent{{}, w.id(), {state->term, 1}, {{a, "again"}}, {}});
  EXPECT_EQ(row(TaskId{run, 0}).error_message, "cannot resolve env.N") << "it counts once";
}

TEST_F(SyncTest, V16_TheUseOfASecretIsLoggedForTheHolderOfTheAttemptOnly) {
  Hand& w = join("w");
  Hand& other = join("other");
  submit({node("a")});
  const bool first = !w.assigned.empty();
  Hand& holder = first ? w : other;
  const Attempt a = take_assignment(holder);
  NoteSecrets note{{}, holder.id(), {{a, "db/password", 3, "DB"}}, {}};
  ask_done(note);
  const Event used = take(EventKind::kSecretUsed);
  EXPECT_EQ(used.worker, holder.id());
  EXPECT_EQ(used.task, a.task);
  EXPECT_EQ(text(used, "secret"), "db/password");
  EXPECT_EQ(number(used, "version"), 3);
  note.worker = (first ? other : w).id();
  EXPECT_EQ(ask_in_vain(note), RefusalKind::kLeaseNotHeld);
  note.worker = holder.id();
  note.uses.push_back({{a.task, {a.epoch.value + 1}}, "db/password", 3, "DB"});
  EXPECT_EQ(ask_in_vain(note), RefusalKind::kLeaseNotHeld) << "all or none";
  ask_done(NoteSecrets{{}, {}, {}, {{"db/password", "set", 4, "admin"}}});
  EXPECT_EQ(text(take(EventKind::kSecretChanged), "by"), "admin");
}

TEST_F(SyncTest, WhatDidNotFitIntoAnAnswerGoesWithTheNextOne) {
  Hand& w = join("w");
  hush(w);
  const RunId run = submit({node("a")});
  const Attempt a{{run, 0}, {1}};
  w.ack = {state->term, w.ack.reply + 1};  // the answer came, without the assignment
  ask_done(Unsent{{}, w.id(), w.ack, {}, {a}});
  w.silent = false;
  step(Tick{});
  const Attempt again = take_assignment(w);
  EXPECT_EQ(again, a) << "the same epoch is sent again, not taken for lost";
  EXPECT_EQ(row(TaskId{run, 0}).counters.releases, 0U);
  complete(w, again);
}

TEST_F(SyncTest, WhatAnEarlierAnswerCarriedIsStillMissedWhenALaterOneIsFull) {
  Hand& w = join("w");
  hush(w);
  const RunId run = submit({node("a")});
  const Attempt a{{run, 0}, {1}};
  w.ack = {state->term, w.ack.reply + 1};
  ask_done(Unsent{{}, w.id(), {w.ack.term, w.ack.reply + 1}, {}, {a}});
  w.silent = false;
  step(Tick{});
  EXPECT_EQ(mirror.attempts.at(a).verdict, Verdict::kLostInTransit);
  complete(w, take_assignment(w));
}

TEST_F(SyncTest, WhatALaterAnswerCarriedMayRunAlthoughTheFirstWasFull) {
  Hand& w = join("w");
  hush(w);
  const RunId run = submit({node("a")});
  const Attempt a{{run, 0}, {1}};
  const ReplyMark first{state->term, w.ack.reply + 1};
  SyncRequest again;
  again.worker = w.id();
  again.incarnation = w.incarnation;
  again.seq = ++w.seq;
  again.ack = w.ack;
  again.slots = 1;
  raw(Sync{RequestId{777}, again});  // its answer carries the assignment too
  replies.clear();
  ask_done(Unsent{{}, w.id(), first, {}, {a}});
  ask_done(CancelTask{{}, a.task});
  EXPECT_EQ(row(a.task).state, TaskState::kScheduled) << "the worker is asked to stop it";
  ignore_everything_from_here();
}

TEST_F(SyncTest, WhatAWorkerHasStartedIsNotTakenForUnsent) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  for (std::uint64_t reply = 1; reply <= w.ack.reply; ++reply) {
    ask_done(Unsent{{}, w.id(), {state->term, reply}, {}, {a}});
  }
  ask_done(CancelTask{{}, a.task});
  EXPECT_EQ(row(a.task).state, TaskState::kRunning);
  end(w, take_stop(w).attempt, Released{Released::Cause::kStopped});
  ignore_everything_from_here();
}

TEST_F(SyncTest, AnAttemptCanBeAskedAboutWhetherItStillHolds) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  const Attempt a = take_and_start(w);
  ask_done(CheckAttempt{{}, a});
  EXPECT_EQ(ask_in_vain(CheckAttempt{{}, {a.task, Epoch{2}}}), RefusalKind::kLeaseNotHeld);
  ask_done(CancelRun{{}, run});
  EXPECT_EQ(ask_in_vain(CheckAttempt{{}, a}), RefusalKind::kLeaseNotHeld);
  end(w, take_stop(w).attempt, Released{Released::Cause::kStopped});
  ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled});
}

}  // namespace
}  // namespace vortex::core
