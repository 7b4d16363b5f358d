// 21 to 25 and 27: what is shown, what is dead, what is held, what is stopped, and that all ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(StatusChecker, MachineShownOfflineWithAWorkerPresent) {
  Story s;
  s.join("w1");
  s.statuses_follow = false;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("21-status-true"));
}

TEST(StatusChecker, MachineShownOnlineWithoutAWorker) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.statuses_follow = false;
  s.lose(w, Evidence::kExit);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("21-status-true"));
}

TEST(StatusChecker, WorkerShownIdleWithWork) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.commit();
  s.statuses_follow = false;
  s.grant(id, w);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("21-status-true"));
}

TEST(StatusChecker, LevelPassedWithOpenTasks) {
  Story s;
  const RunId run = s.submit(dag({node("a"), node("b", {"a"})}));
  s.run(run).levels_passed = 1;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("21-status-true"));
}

TEST(StatusChecker, ReconcilerFindsSomething) {
  Story s;
  s.event(EventKind::kStateReconcileFix);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("21-status-true"));
}

TEST(DeadLetterChecker, FailedWithoutALetter) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.die(id);
  s.rows().dead_letters.clear();
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("22-one-dead-letter"));
}

TEST(DeadLetterChecker, LetterOfALiveTask) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.rows().dead_letters.push_back({{id, {1}}, {}, {}, s.now, {}});
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("22-one-dead-letter"));
}

TEST(DeadLetterChecker, RunAgainWithTheLetterStillOpen) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.die(id);
  s.commit();
  s.revive(id);
  s.rows().dead_letters.clear();
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("22-one-dead-letter"));
}

TEST(DeadLetterChecker, LetterThatComesBack) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.die(id);
  s.commit();
  s.rows().dead_letters.push_back({{id, {1}}, {}, DeadLetterState::kDiscarded, s.now, {}});
  s.commit();
  s.rows().dead_letters.push_back({{id, {1}}, {}, DeadLetterState::kOpen, s.now, {}});
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("22-one-dead-letter"));
}

TEST(DeadLetterChecker, DiscardedThenRunAgainIsClean) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.die(id);
  s.commit();
  s.rows().dead_letters.push_back({{id, {1}}, {}, DeadLetterState::kDiscarded, s.now, {}});
  s.commit();
  s.revive(id);
  s.rows().dead_letters.clear();
  s.commit();
  EXPECT_EQ(s.report(), "");
}

// One partition, first held by `a` in epoch 1 for 30 s.
struct Leased {
  Leased() { put("a", 1); }
  void put(const char* holder, std::uint64_t epoch) {
    s.rows().leases.push_back({key, AgentId(holder), {epoch}, s.now + seconds(30)});
    s.commit();
  }
  Story s;
  PartitionKey key{"orders", 5};
};

TEST(LeaseChecker, TakenBeforeItEnds) {
  Leased early;
  early.s.pass(seconds(20));
  early.put("b", 2);
  EXPECT_THAT(early.s.broken(), ElementsAre("23-leases-apart"));
  Leased late;
  late.s.pass(seconds(30));
  late.put("b", 2);
  EXPECT_EQ(late.s.report(), "");
}

TEST(LeaseChecker, ReleasedAndTakenInOneCommit) {
  for (const bool merged : {false, true}) {
    Leased l;
    if (!merged) l.s.rows().leases.push_back({l.key, AgentId(), {1}, l.s.now});
    if (merged) l.s.event(EventKind::kLeaseReleased);
    l.put("b", 2);
    EXPECT_EQ(l.s.report(), "");
  }
}

TEST(LeaseChecker, RenewedAndTakenAgainByTheHolderIsClean) {
  Leased l;
  l.s.pass(seconds(20));
  l.put("a", 1);
  l.s.pass(seconds(20));
  l.put("a", 2);
  EXPECT_EQ(l.s.report(), "");
}

TEST(LeaseChecker, RenewedByAnotherUnderTheSameEpoch) {
  Leased l;
  l.put("b", 1);
  EXPECT_THAT(l.s.broken(), ElementsAre("23-leases-apart"));
}

TEST(LeaseChecker, AnswerToAFormerHolder) {
  Leased l;
  l.s.pass(seconds(40));
  l.put("b", 2);
  const Instant until = l.s.now + seconds(20);
  l.s.tell(
      ClientTold{core::RenewLease{{}, l.key, AgentId("b"), {2}}, core::LeaseGranted{{2}, until}});
  EXPECT_EQ(l.s.report(), "");
  Leased m;
  m.s.pass(seconds(40));
  m.put("b", 2);
  m.s.tell(
      ClientTold{core::RenewLease{{}, m.key, AgentId("a"), {1}}, core::LeaseGranted{{2}, until}});
  EXPECT_THAT(m.s.broken(), ElementsAre("23-leases-apart"));
}

TEST(LeaseChecker, AnswerThatPromisesMoreThanWasCommitted) {
  Leased l;
  l.s.tell(ClientTold{core::AcquireLease{{}, l.key, AgentId("a")},
                      core::LeaseGranted{{1}, l.s.now + seconds(60)}});
  EXPECT_THAT(l.s.broken(), ElementsAre("23-leases-apart"));
}

TEST(LeaseChecker, ReleaseThatWasNotCommitted) {
  Leased l;
  l.s.tell(ClientTold{core::ReleaseLease{{}, l.key, AgentId("a"), {1}}, core::Done{}});
  EXPECT_THAT(l.s.broken(), ElementsAre("26-ok-is-durable"));
}

// A run of two tasks, the first running, cancelled.
struct Cancelled {
  Cancelled() {
    s.run(a.run).ending = RunEnding::kCancelled;
    s.task(a).stop = StopReason::kCancel;
    s.commit();
  }
  std::set<std::string> broken() {
    s.commit();
    return s.broken();
  }
  Story s;
  WorkerId w = s.join("w1");
  TaskId a = s.running_task(w, dag({node("a"), node("b")}));
};

TEST(CancelChecker, GrantAfterCancel) {
  Cancelled c;
  c.s.grant({c.a.run, 1}, c.w);
  EXPECT_THAT(c.broken(), ElementsAre("24-cancel-holds"));
}

TEST(CancelChecker, SuccessAfterCancel) {
  Cancelled c;
  c.s.complete(c.a);
  EXPECT_THAT(c.broken(), Contains("24-cancel-holds"));
}

TEST(CancelChecker, QueuedAgainAfterCancel) {
  Cancelled c;
  c.s.lose(c.w, Evidence::kExit);
  EXPECT_THAT(c.broken(), Contains("24-cancel-holds"));
}

TEST(CancelChecker, GrantInTheCommitOfTheCancelIsClean) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.commit();
  s.grant(id, w);
  s.run(id.run).ending = RunEnding::kCancelled;
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(LimitChecker, MoreTasksThanMayBeHeldAhead) {
  Story s;
  const WorkerId w = s.join("w1", 1);
  for (std::uint32_t i = 0; i < 2 + kAheadPerSlotMax; ++i) s.running_task(w);
  EXPECT_THAT(s.broken(), Contains("25-limits-kept"));
}

TEST(LimitChecker, MoreProcessesThanSlots) {
  Story s;
  const WorkerId w = s.join("w1", 1);
  const TaskId first = s.running_task(w);
  const TaskId second = s.running_task(w);
  const std::uint64_t process = s.start_process(first);
  s.end_process(process);
  s.start_process(second);
  s.start_process(s.running_task(w));
  EXPECT_THAT(s.broken(), ElementsAre("25-slots-kept"));
}

TEST(LimitChecker, SlotIsFreeAfterAReclaim) {
  Story s;
  const WorkerId w = s.join("w1", 1);
  const TaskId id = s.running_task(w);
  s.fail(id);
  s.commit();
  s.running_task(w);
  EXPECT_EQ(s.report(), "");
}

TEST(LimitChecker, MoreResourcesThanTheWorkerHas) {
  for (const bool named : {false, true}) {
    Story s;
    const WorkerId w = s.join("w1");
    WorkerInfo info = *s.worker(w).info;
    info.resources = {.cpu_milli = 1000, .memory_bytes = 0, .named = {{"gpu", 1}}};
    s.worker(w).info = std::make_shared<const WorkerInfo>(info);
    NodeSpec spec = node("a");
    spec.requirements.resources.cpu_milli = 500;
    spec.requirements.resources.memory_bytes = 1'000'000;
    if (named) spec.requirements.resources.named = {{"gpu", 1}};
    s.running_task(w, dag({spec}));
    s.running_task(w, dag({spec}));
    EXPECT_EQ(s.broken().contains("25-limits-kept"), named) << s.report();
  }
}

TEST(LimitChecker, MapBeyondMaxParallel) {
  NodeSpec map = node("m");
  map.map.emplace();
  map.map->over = MapRange{1, 3, 1};
  map.map->max_parallel = 2;
  for (const std::uint32_t granted : {2U, 3U}) {
    Story s;
    const WorkerId w = s.join("w1");
    const RunId run = s.submit(dag({map}));
    for (std::uint32_t i = 0; i < 3; ++i) s.queue({run, i});
    for (std::uint32_t i = 0; i < granted; ++i) s.grant({run, i}, w);
    s.commit();
    EXPECT_EQ(s.broken().contains("25-limits-kept"), granted == 3) << s.report();
  }
}

TEST(LivenessChecker, RunThatNeverEnds) {
  Story s;
  s.submit(dag({node("a")}));
  s.commit();
  EXPECT_EQ(s.report(), "");  // nothing was promised yet
  Story t;
  t.submit(dag({node("a")}));
  t.commit();
  t.tell(FaultsStopped{});
  EXPECT_THAT(t.broken(), ElementsAre("27-all-ends"));
}

TEST(LivenessChecker, PausedMayWait) {
  Story s;
  s.run(s.submit(dag({node("a")}))).paused = true;
  s.commit();
  s.tell(FaultsStopped{});
  EXPECT_EQ(s.report(), "");
  Story t;
  t.submit(dag({node("a")}));
  t.rows().queues.push_back({"default", true});
  t.commit();
  t.tell(FaultsStopped{});
  EXPECT_EQ(t.report(), "");
}

TEST(LivenessChecker, RunThatEndsBeforeItsMapWasMade) {
  NodeSpec map = node("m", {"a"});
  map.map.emplace();
  map.map->over = MapRange{1, 3, 1};
  Story s;
  const TaskId a = s.running_task(s.join("w1"), dag({node("a"), map}));
  s.complete(a);
  s.end_run(a.run, RunState::kCompleted);
  s.commit();
  EXPECT_THAT(s.broken(), Contains("27-all-ends"));
}

}  // namespace
}  // namespace vortex::sim
