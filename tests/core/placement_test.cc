// Which worker gets which task: queues, priorities, abilities, resources, load.

#include "core/explain.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Placement : public LifeTest {
 protected:
  static NodeSpec needing(std::string name, Requirements requirements) {
    NodeSpec spec = node(std::move(name));
    spec.requirements = std::move(requirements);
    return spec;
  }
  static Requirements cpu(std::int64_t milli) {
    Requirements r;
    r.resources.cpu_milli = milli;
    return r;
  }
  // Runs what the worker has at hand to its end.
  void drain_work(Hand& hand) {
    while (!hand.assigned.empty()) complete(hand, take_assignment(hand));
  }
};

TEST_F(Placement, AWorkerTakesOnlyFromQueuesItListensTo) {
  Hand& plain = join("plain", 4);
  WorkerInfo info = worker_info("both", 4);
  info.queues = {"default", "gpu"};
  Requirements gpu;
  gpu.queue = "gpu";
  submit({needing("a", gpu)});
  EXPECT_TRUE(plain.assigned.empty());
  Hand& both = join(info);
  drain_work(both);
}

TEST_F(Placement, A07_LabelsAndRuntimeMustAllBeOffered) {
  WorkerInfo half = worker_info("half", 4);
  half.labels = {{"disk", "ssd"}};
  half.runtimes = {"python"};
  WorkerInfo whole = half;
  whole.id = WorkerId("whole");
  whole.labels = {{"disk", "ssd"}, {"zone", "a"}};
  Requirements r;
  r.labels = {{"disk", "ssd"}, {"zone", "a"}};
  r.runtime = "python";
  Hand& no = join(half);
  submit({needing("a", r)});
  EXPECT_TRUE(no.assigned.empty());
  Hand& yes = join(whole);
  drain_work(yes);
  r.runtime = "ruby";
  const RunId run = submit({needing("b", r)});
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
}

TEST_F(Placement, ATaskThatChoosesItsUserGoesToAWorkerThatAllowsIt) {
  Hand& none = join("none", 4);
  WorkerInfo deploys = worker_info("deploys", 4);
  deploys.users = {"deploy"};
  Hand& other = join(deploys);
  Requirements r;
  r.user = "build";
  const RunId run = submit({needing("a", r)});
  EXPECT_TRUE(none.assigned.empty());
  EXPECT_TRUE(other.assigned.empty());
  EXPECT_THAT(explain(*state, {run, 0}, now).obstacles.at(0).what,
              ::testing::HasSubstr("allows tasks to run as 'build'"));
  WorkerInfo builds = worker_info("builds", 4);
  builds.users = {"build", "deploy"};
  Hand& yes = join(builds);
  EXPECT_EQ(yes.assigned.size(), 1U);
  drain_work(yes);
}

TEST_F(Placement, A07_LoadIsBalancedNotGivenToTheFirst) {
  Hand& a = join("a", 4);
  Hand& b = join("b", 4);
  Hand& c = join("c", 4);
  submit({mapped("m", range(1, 6))});
  EXPECT_EQ(a.assigned.size(), 2u);
  EXPECT_EQ(b.assigned.size(), 2u);
  EXPECT_EQ(c.assigned.size(), 2u);
  for (Hand* hand : {&a, &b, &c}) drain_work(*hand);
}

TEST_F(Placement, A07_LoadIsRelativeToSlots) {
  Hand& small = join("small", 2);
  Hand& large = join("large", 8);
  submit({mapped("m", range(1, 5))});
  EXPECT_EQ(small.assigned.size(), 1u);
  EXPECT_EQ(large.assigned.size(), 4u);
  drain_work(small);
  drain_work(large);
}

TEST_F(Placement, A07_EquallyLoadedWorkersTakeTurns) {
  Hand& a = join("a");
  Hand& b = join("b");
  for (int i = 0; i < 4; ++i) {
    submit({node("n")});
    Hand& expected = i % 2 == 0 ? a : b;
    EXPECT_EQ(expected.assigned.size(), 1u) << "task " << i;
    drain_work(a);
    drain_work(b);
  }
}

TEST_F(Placement, AWorkerIsNeverGivenMoreThanItIsWillingToHold) {
  Hand& w = join("w", 4);
  w.slots = 2;
  advance(policy.heartbeat_interval);  // its next poll says so
  submit({mapped("m", range(1, 200))});
  EXPECT_EQ(w.assigned.size(), 2u);
  w.slots = 1'000;  // more than may be held ahead of its four slots
  advance(policy.heartbeat_interval);
  EXPECT_EQ(w.held.size(), 4u * (1 + kAheadPerSlotMax));
  drain_work(w);
}

TEST_F(Placement, HigherPriorityFirstThenTheOlder) {
  Hand& w = join("w");
  const Attempt busy = (submit({node("busy")}), take_assignment(w));
  NodeSpec low = node("low");
  low.priority = -5;
  NodeSpec high = node("high");
  high.priority = 5;
  const RunId old_low = submit({low});
  const RunId first_high = submit({high});
  const RunId second_high = submit({high});
  complete(w, busy);
  for (const RunId run : {first_high, second_high, old_low}) {
    const Attempt next = take_assignment(w);
    EXPECT_EQ(next.task.run, run);
    complete(w, next);
  }
}

TEST_F(Placement, PriorityHoldsAcrossQueuesOfOneWorker) {
  WorkerInfo info = worker_info("w");
  info.queues = {"default", "other"};
  Hand& w = join(info);
  const Attempt busy = (submit({node("busy")}), take_assignment(w));
  submit({node("low")});
  NodeSpec high = node("high");
  high.requirements.queue = "other";
  high.priority = 1;
  const RunId urgent = submit({high});
  complete(w, busy);
  EXPECT_EQ(w.assigned.front().attempt.task.run, urgent);
  drain_work(w);
}

TEST_F(Placement, CpuAndMemoryAreRationedWhereTheWorkerStatesThem) {
  WorkerInfo info = worker_info("w", 8);
  info.resources.cpu_milli = 2'000;
  info.resources.memory_bytes = 1'000;
  Hand& w = join(info);
  NodeSpec cpu_heavy = mapped("cpu", range(1, 3));
  cpu_heavy.requirements.resources.cpu_milli = 1'000;
  NodeSpec memory_heavy = mapped("memory", range(1, 3));
  memory_heavy.requirements.resources.memory_bytes = 600;
  submit({cpu_heavy, memory_heavy});
  EXPECT_EQ(w.assigned.size(), 3u);  // two by cpu, one by memory
  drain_work(w);
  submit({needing("too-much", cpu(2'001))});
  EXPECT_TRUE(w.assigned.empty());
  Hand& unrationed = join("unrationed");
  drain_work(unrationed);
}

TEST_F(Placement, NamedResourcesMustBeStated) {
  WorkerInfo info = worker_info("w", 8);
  info.resources.named = {{"license", 2}};
  Hand& w = join(info);
  Hand& other = join("other", 8);
  NodeSpec licensed = mapped("l", range(1, 3));
  licensed.requirements.resources.named = {{"license", 1}};
  submit({licensed});
  EXPECT_EQ(w.assigned.size(), 2u);
  EXPECT_TRUE(other.assigned.empty());
  drain_work(w);
}

TEST_F(Placement, WhatDoesNotFitNowDoesNotHoldUpWhatDoes) {
  WorkerInfo info = worker_info("w", 8);
  info.resources.cpu_milli = 1'000;
  Hand& w = join(info);
  submit({needing("a", cpu(800))});
  submit({needing("b", cpu(800))});
  submit({needing("c", cpu(100))});
  EXPECT_EQ(w.assigned.size(), 2u);
  drain_work(w);
}

TEST_F(Placement, APinnedTaskGoesOnlyToItsWorker) {
  Hand& other = join("other", 4);
  Requirements pin;
  pin.worker = WorkerId("mine");
  submit({needing("a", pin)});
  EXPECT_TRUE(other.assigned.empty());
  Hand& mine = join("mine", 4);
  drain_work(mine);
}

TEST_F(Placement, APausedQueueGivesNothingOutUntilItIsResumed) {
  Hand& w = join("w", 4);
  ask_done(PauseQueue{{}, "default", true});
  take(EventKind::kQueuePaused);
  submit({node("a")});
  advance(seconds(30));
  EXPECT_TRUE(w.assigned.empty());
  EXPECT_TRUE(mirror.queues.at("default").paused);
  ask_done(PauseQueue{{}, "default", true});  // again: harmless, no second event
  reload();
  EXPECT_TRUE(w.assigned.empty());
  ask_done(PauseQueue{{}, "default", false});
  take(EventKind::kQueueResumed);
  drain_work(w);
}

TEST_F(Placement, ACordonedWorkerTakesNoNewWorkAndKeepsWhatItHas) {
  Hand& w = join("w", 4);
  submit({node("a")});
  const Attempt a = take_and_start(w);
  ask_done(CordonWorker{{}, w.id(), true});
  take(EventKind::kWorkerCordoned);
  EXPECT_TRUE(row(w).cordoned);
  submit({node("b")});
  EXPECT_TRUE(w.assigned.empty());
  complete(w, a);
  EXPECT_TRUE(w.assigned.empty());
  ask_done(CordonWorker{{}, w.id(), false});
  take(EventKind::kWorkerUncordoned);
  drain_work(w);
}

}  // namespace
}  // namespace vortex::core
