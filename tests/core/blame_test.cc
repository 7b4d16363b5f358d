// Four counters that are never mixed, tasks that kill workers, and workers that kill tasks.

#include "core/explain.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class BlameTest : public LifeTest {
 protected:
  BlameTest() {
    ignore_comings_and_goings();
    state->policy.probation_after = policy.probation_after = seconds(20);
  }

  const TaskRow& only_task() const {
    EXPECT_EQ(mirror.tasks.size(), 1u);
    return mirror.tasks.begin()->second;
  }
  void expect_counters(std::uint16_t failures, std::uint16_t crashes, std::uint16_t stalls,
                       std::uint16_t releases) {
    const TaskCounters& c = only_task().counters;
    EXPECT_EQ(c.failures, failures);
    EXPECT_EQ(c.crashes, crashes);
    EXPECT_EQ(c.stalls, stalls);
    EXPECT_EQ(c.releases, releases);
  }
  // A worker that gets none of the test's tasks, so that the fleet is not one worker alone.
  static WorkerInfo elsewhere(const std::string& name) {
    WorkerInfo info = worker_info(name);
    info.queues = {"q-" + name};
    return info;
  }
  void submit_one(const std::string& name, const std::string& queue = "default") {
    NodeSpec spec = with_retries(node(name), 0);
    spec.requirements.queue = queue;
    submit({spec});
  }
  // As many definitions as it takes die on it.
  void blame(Hand& hand, const std::string& queue = "default") {
    for (std::uint16_t i = 0; i < policy.cordon_after; ++i) {
      submit_one("bad" + std::to_string(++definitions_), queue);
      die_by_signal(hand);
    }
    take_all(EventKind::kTaskDeadLettered);
  }
  Hand& blamed(const std::string& name, std::uint32_t slots = 1) {
    Hand& hand = join(name, slots);
    blame(hand);
    EXPECT_EQ(row(hand).blame, WorkerBlame::kCordoned);
    EXPECT_TRUE(row(hand).cordoned);
    take(EventKind::kWorkerCordoned);
    return hand;
  }
  int definitions_ = 0;
  void die_by_signal(Hand& hand) {
    end(hand, take_and_start(hand), Failed{Failed::Cause::kSignal, 11, "segfault"});
    take(EventKind::kTaskFailed);
  }
};

TEST_F(BlameTest, M07_ACrashOfTheWorkerDoesNotUseUpRetries) {
  submit({with_retries(node("a"), 0)});
  for (std::uint64_t life = 1; life <= 2; ++life) {
    Hand& w = join(worker_info("w"), {life});
    take_and_start(w);
    kill(w);
  }
  expect_counters(0, 2, 0, 0);
  Hand& w = join("other");
  complete(w, take_assignment(w));
  EXPECT_EQ(only_task().state, TaskState::kCompleted);
}

TEST_F(BlameTest, EachKindOfEndHasItsOwnCounter) {
  NodeSpec spec = with_retries(node("a"), 5);
  submit({spec});
  Hand& w = join("w");
  fail(w, take_and_start(w));
  take(EventKind::kTaskFailed);
  expect_counters(1, 0, 0, 0);
  advance(seconds(2));
  end(w, take_and_start(w), TimedOut{});
  take(EventKind::kTaskTimeout);
  expect_counters(1, 0, 1, 0);
  advance(seconds(2));
  end(w, take_and_start(w), Released{Released::Cause::kDrained});
  expect_counters(1, 0, 1, 1);
  end(w, take_and_start(w), Released{Released::Cause::kSelfFenced});
  expect_counters(1, 0, 1, 2);
  take_and_start(w);
  kill(w);
  expect_counters(1, 1, 1, 2);
  Hand& other = join("other");
  complete(other, take_assignment(other));
  expect_counters(1, 1, 1, 2);
  EXPECT_EQ(only_task().counters.attempts, 6u);
}

TEST_F(BlameTest, OnlyWhatWasReportedStartedIsBlamed) {
  submit({node("a")});
  Hand& w = join("w");
  take_assignment(w);
  kill(w);
  expect_counters(0, 0, 0, 1);
  Hand& other = join("other");
  complete(other, take_assignment(other));
}

TEST_F(BlameTest, AProofMayNameWhatRanAlthoughNobodyReportedIt) {
  const RunId run = submit({node("a"), node("b")});
  Hand& w = join("w", 2);
  const Attempt ran = take_assignment(w);
  take_assignment(w);
  hush(w);
  const Attempt old{ran.task, {ran.epoch.value + 7}};
  const Attempt nobody{{.run = {99}, .index = 0}, {1}};
  raw(WorkerExited{{}, w.id(), w.incarnation, {old, ran, nobody}});
  take(EventKind::kTaskStarted);
  EXPECT_EQ(row(TaskId{run, 0}).counters.crashes, 1u);
  EXPECT_EQ(row(TaskId{run, 1}).counters.crashes, 0u) << "this one had not begun";
  Hand& other = join("other", 2);
  complete(other, take_assignment(other));
  complete(other, take_assignment(other));
}

TEST_F(BlameTest, ATaskThatKillsItsWorkersIsQuarantinedAtTheLimitInTheSameTransaction) {
  const RunId run = submit({with_retries(node("a"), 100)});
  for (std::uint16_t i = 1; i <= policy.crash_limit; ++i) {
    Hand& w = join("w" + std::to_string(i));
    take_and_start(w);
    hush(w);
    const Effects fx = raw(WorkerExited{{}, w.id(), w.incarnation});
    EXPECT_EQ(fx.rows.dead_letters.size(), i == policy.crash_limit ? 1u : 0u);
  }
  EXPECT_EQ(only_task().state, TaskState::kFailed);
  EXPECT_EQ(mirror.dead_letters.begin()->second.reason, DeathReason::kCrashLimit);
  EXPECT_EQ(take(EventKind::kTaskQuarantined).task, (TaskId{run, 0}));
  expect_counters(0, policy.crash_limit, 0, 0);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(BlameTest, SuspectsOnTheirLastTryDoNotShareAWorker) {
  const RunId run = submit({node("killer"), node("bystander")});
  for (const char* name : {"w1", "w2"}) {
    Hand& w = join(name, 2);
    take_and_start(w);
    take_and_start(w);
    kill(w);
  }
  Hand& third = join("w3", 2);
  const Attempt killer = take_and_start(third);
  EXPECT_EQ(killer.task, (TaskId{run, 0}));
  EXPECT_TRUE(third.assigned.empty()) << "both would reach their limit by one death";
  EXPECT_EQ(explain(*state, {run, 1}, now).reason, WaitReason::kLastTryApart);
  Hand& fourth = join("w4", 2);
  const Attempt bystander = take_and_start(fourth);
  kill(third);
  take(EventKind::kTaskQuarantined);
  complete(fourth, bystander);
  EXPECT_EQ(row(TaskId{run, 0}).state, TaskState::kFailed);
  EXPECT_EQ(row(TaskId{run, 1}).state, TaskState::kCompleted);
}

TEST_F(BlameTest, TheSecondSuspectFollowsWhenTheFirstHasEnded) {
  const RunId run = submit({node("a"), node("b")});
  for (const char* name : {"w1", "w2"}) {
    Hand& w = join(name, 2);
    take_and_start(w);
    take_and_start(w);
    kill(w);
  }
  Hand& last = join("w3", 2);
  complete(last, take_and_start(last));
  complete(last, take_and_start(last));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(BlameTest, GoodbyeResetAndDrainBlameNobody) {
  submit({node("a")});
  ignore({EventKind::kWorkerReset});
  Hand& w = join("w");
  take_and_start(w);
  ask_done(ResetWorker{{}, w.id()});
  EXPECT_EQ(take_refusal(w), SyncRefusal::Why::kSessionEnded);
  expect_counters(0, 0, 0, 1);
  Hand& leaver = join("leaver");
  take_and_start(leaver);
  leaver.leaving = Leaving::kGone;
  leaver.held.clear();
  const RequestId last = send(leaver, request_of(leaver));
  (void)last;
  leaver.refusals.clear();
  hush(leaver);
  EXPECT_EQ(state_of(leaver), WorkerState::kInactive);
  expect_counters(0, 0, 0, 2);
  Hand& other = join("other");
  complete(other, take_assignment(other));
}

TEST_F(BlameTest, ThreeDifferentDefinitionsThatDieAbnormallyInARowCordonTheWorker) {
  join(elsewhere("other"));
  Hand& w = join("w");
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_FALSE(row(w).cordoned);
    submit({with_retries(node(name), 0)});
    die_by_signal(w);
  }
  EXPECT_TRUE(row(w).cordoned);
  take(EventKind::kWorkerCordoned);
  take_all(EventKind::kTaskDeadLettered);
  submit({node("d")});
  EXPECT_TRUE(w.assigned.empty());
  reload();
  EXPECT_TRUE(w.assigned.empty());
  ask_done(ResetWorker{{}, w.id()});
  take_refusal(w);
  take(EventKind::kWorkerReset);
  take(EventKind::kWorkerUncordoned);
  Hand& fresh = join(w.info, {2});
  complete(fresh, take_assignment(fresh));
}

TEST_F(BlameTest, ManyItemsOfOneMapDoNotCordonAWorker) {
  Hand& w = join("w");
  submit({with_retries(mapped("m", range(1, 6)), 0)});
  for (int i = 0; i < 6; ++i) die_by_signal(w);
  EXPECT_FALSE(row(w).cordoned);
  take_all(EventKind::kTaskDeadLettered);
}

TEST_F(BlameTest, AnOrdinaryEndBreaksTheRow) {
  Hand& w = join("w");
  for (const char* name : {"a", "b"}) {
    submit({with_retries(node(name), 0)});
    die_by_signal(w);
  }
  submit({node("fine")});
  complete(w, take_assignment(w));
  submit({with_retries(node("c"), 0)});
  die_by_signal(w);
  EXPECT_FALSE(row(w).cordoned);
  take_all(EventKind::kTaskDeadLettered);
}

TEST_F(BlameTest, WhatCouldNotStartBlamesTheTaskAndNeverTheWorker) {
  join(elsewhere("other"));
  Hand& w = join("w");
  for (int i = 0; i < 10; ++i) {
    submit_one("missing" + std::to_string(i));
    end(w, take_assignment(w), Failed{Failed::Cause::kCouldNotStart, 2, "no such program"});
    take(EventKind::kTaskFailed);
  }
  EXPECT_FALSE(row(w).cordoned);
  take_all(EventKind::kTaskDeadLettered);
}

TEST_F(BlameTest, TheOnlyWorkerIsNeverCordonedByBlame) {
  Hand& w = join("w");
  blame(w);
  EXPECT_FALSE(row(w).cordoned);
  const Event withheld = take(EventKind::kWorkerCordonWithheld);
  EXPECT_EQ(number(withheld, "blamed_max"), 0);
  EXPECT_EQ(number(withheld, "workers"), 1);
}

TEST_F(BlameTest, AtMostAShareOfTheWorkersIsCordonedByBlame) {
  constexpr int kWorkers = 9;
  std::vector<Hand*> all;
  for (int i = 0; i < kWorkers; ++i) all.push_back(&join(elsewhere("w" + std::to_string(i))));
  for (Hand* hand : all) blame(*hand, "q-" + hand->id().text);
  EXPECT_EQ(take_all(EventKind::kWorkerCordoned).size(), 2u) << "a quarter of nine";
  EXPECT_EQ(take_all(EventKind::kWorkerCordonWithheld).size(), 7u);
}

TEST_F(BlameTest, AShareOfZeroCordonsNobody) {
  state->policy.cordon_share_percent = policy.cordon_share_percent = 0;
  join(elsewhere("other"));
  Hand& w = join("w");
  blame(w);
  EXPECT_FALSE(row(w).cordoned);
  take(EventKind::kWorkerCordonWithheld);
}

TEST_F(BlameTest, AShareOfAHundredLeavesOne) {
  state->policy.cordon_share_percent = policy.cordon_share_percent = 100;
  for (const char* name : {"a", "b", "c"}) join(elsewhere(name));
  for (const char* name : {"a", "b", "c"}) blame(hands.at(name), std::string("q-") + name);
  EXPECT_EQ(take_all(EventKind::kWorkerCordoned).size(), 2u);
  EXPECT_FALSE(row(hands.at("c")).cordoned);
  take(EventKind::kWorkerCordonWithheld);
}

TEST_F(BlameTest, OnProbationItGetsOneTaskAtATimeAndANormalEndLiftsTheCordon) {
  join(elsewhere("other"));
  Hand& w = blamed("w", 3);
  for (const char* name : {"a", "b", "c"}) submit({node(name)});
  EXPECT_TRUE(w.assigned.empty());
  advance(policy.probation_after - seconds(1));
  EXPECT_TRUE(w.assigned.empty());
  advance(seconds(1));
  take(EventKind::kWorkerProbation);
  EXPECT_EQ(row(w).blame, WorkerBlame::kProbation);
  EXPECT_EQ(row(w).probation_at, kNever);
  EXPECT_TRUE(row(w).cordoned);
  ASSERT_EQ(w.assigned.size(), 1u);
  fail(w, take_and_start(w));
  take(EventKind::kTaskFailed);
  EXPECT_EQ(text(take(EventKind::kWorkerUncordoned), "reason"), "its test task ended normally");
  EXPECT_EQ(row(w).blame, WorkerBlame::kNone);
  EXPECT_EQ(row(w).times_blamed, 0u);
  EXPECT_FALSE(row(w).cordoned);
  EXPECT_EQ(w.assigned.size(), 2u);
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  advance(seconds(10));
  complete(w, take_assignment(w));
}

TEST_F(BlameTest, AFailedProbationWaitsTwiceAsLongUpToALimit) {
  join(elsewhere("other"));
  Hand& w = blamed("w");
  Duration wait = policy.probation_after;
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(row(w).probation_at, now + wait) << i;
    EXPECT_EQ(row(w).times_blamed, static_cast<std::uint32_t>(i));
    advance(wait);
    take(EventKind::kWorkerProbation);
    submit_one("again" + std::to_string(i));
    die_by_signal(w);
    take(EventKind::kTaskDeadLettered);
    EXPECT_EQ(text(take(EventKind::kWorkerCordoned), "reason"), "its test task died abnormally");
    if (i < 5) wait = wait * 2;
  }
  EXPECT_EQ(wait, policy.probation_after * 16);
}

TEST_F(BlameTest, WhatEndsWithoutAVerdictOnTheWorkerLeavesItOnProbation) {
  join(elsewhere("other"));
  Hand& w = blamed("w");
  advance(policy.probation_after);
  take(EventKind::kWorkerProbation);
  submit_one("missing");
  end(w, take_assignment(w), Failed{Failed::Cause::kCouldNotStart, 2, "no such program"});
  take(EventKind::kTaskFailed);
  take(EventKind::kTaskDeadLettered);
  EXPECT_EQ(row(w).blame, WorkerBlame::kProbation);
}

TEST_F(BlameTest, BlameAndProbationSurviveAReload) {
  join(elsewhere("other"));
  Hand& w = blamed("w", 2);
  advance(policy.probation_after / 2);
  reload();
  for (const char* name : {"a", "b"}) submit({node(name)});
  EXPECT_TRUE(w.assigned.empty());
  advance(policy.probation_after / 2 + policy.sweep * 2);
  take(EventKind::kWorkerProbation);
  EXPECT_EQ(w.assigned.size(), 1u);
  reload();
  EXPECT_EQ(row(w).blame, WorkerBlame::kProbation);
  complete(w, take_assignment(w));
  take(EventKind::kWorkerUncordoned);
  complete(w, take_assignment(w));
}

TEST_F(BlameTest, AWorkerThatIsRestartedBeginsItsProbationAtOnce) {
  join(elsewhere("other"));
  Hand& w = blamed("w");
  kill(w);
  Hand& fresh = join(w.info, {2});
  EXPECT_EQ(text(take(EventKind::kWorkerProbation), "reason"), "the worker was restarted");
  submit({node("a")});
  complete(fresh, take_assignment(fresh));
  take(EventKind::kWorkerUncordoned);
}

TEST_F(BlameTest, WhenTheOthersLeaveTheProbationBeginsEarly) {
  Hand& other = join(elsewhere("other"));
  Hand& w = blamed("w");
  const RunId run = submit({node("a")});
  EXPECT_EQ(explain(*state, {run, 0}, now).moves_at, row(w).probation_at);
  kill(other);
  EXPECT_EQ(text(take(EventKind::kWorkerProbation), "reason"), "too few other workers are left");
  complete(w, take_assignment(w));
  take(EventKind::kWorkerUncordoned);
}

TEST_F(BlameTest, AnOperatorsCordonOutlastsTheProbation) {
  join(elsewhere("other"));
  Hand& w = blamed("w");
  ask_done(CordonWorker{{}, w.id(), true});
  EXPECT_EQ(text(take(EventKind::kWorkerCordoned), "reason"), "operator");
  EXPECT_EQ(row(w).blame, WorkerBlame::kNone);
  submit({node("a")});
  advance(policy.probation_after * 2);
  EXPECT_TRUE(w.assigned.empty());
  ask_done(CordonWorker{{}, w.id(), false});
  take(EventKind::kWorkerUncordoned);
  complete(w, take_assignment(w));
}

TEST_F(BlameTest, AnOperatorMayLiftItBeforeItsTime) {
  join(elsewhere("other"));
  Hand& w = blamed("w");
  ask_done(CordonWorker{{}, w.id(), false});
  take(EventKind::kWorkerUncordoned);
  submit({node("a")});
  complete(w, take_assignment(w));
  EXPECT_EQ(row(w).probation_at, kNever);
  advance(policy.probation_after * 2);
  EXPECT_EQ(count(EventKind::kWorkerProbation), 0u);
}

}  // namespace
}  // namespace vortex::core
