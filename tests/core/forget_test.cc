// Forgetting workers, machines and leases: never what is in use, and no fence falls with them.

#include "core/explain.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

Policy forgetful() {
  Policy policy = test_policy();
  policy.retain_workers = hours(1);
  policy.retain_leases = hours(1);
  return policy;
}

class Forget : public LifeTest {
 protected:
  Forget() : LifeTest(forgetful()) {
    ignore_comings_and_goings();
    ignore({EventKind::kLeaseAcquired, EventKind::kLeaseReleased, EventKind::kLeaseExpired,
            EventKind::kTaskRequeued, EventKind::kTaskReassigned});
  }
  LeaseGranted acquire(const PartitionKey& key, const std::string& agent) {
    return ask<LeaseGranted>(AcquireLease{{}, key, AgentId(agent)});
  }
  void long_time() {
    for (int i = 0; i < 70; ++i) advance(minutes(1));
  }
};

TEST_F(Forget, AWorkerThatIsPresentCannotBeDeleted) {
  join("w");
  EXPECT_EQ(ask_in_vain(DeleteWorker{{}, WorkerId("w")}), RefusalKind::kWrongState);
  EXPECT_TRUE(mirror.workers.contains(WorkerId("w")));
  EXPECT_EQ(ask_in_vain(DeleteWorker{{}, WorkerId("nobody")}), RefusalKind::kUnknownWorker);
}

TEST_F(Forget, ADeletedWorkerIsGoneWithItsMachineAndItsOldWordsAreRefused) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  kill(w);
  ask_done(DeleteWorker{{}, w.id()});
  EXPECT_EQ(take(EventKind::kWorkerDeleted).worker, w.id());
  EXPECT_FALSE(mirror.workers.contains(w.id()));
  EXPECT_FALSE(mirror.machines.contains(w.info.machine));
  EXPECT_FALSE(state->workers.find(w.id()).valid());
  // The old life speaks again, with its result: refused, and the task runs elsewhere.
  SyncRequest late = request_of(w);
  late.seq = w.seq + 1;
  late.reports = {{a, Completed{}}};
  step(Sync{{77}, late});
  EXPECT_EQ(take_reply<SyncRefusal>().why, SyncRefusal::Why::kUnknownWorker);
  EXPECT_EQ(ask_in_vain(WorkerExited{{}, w.id(), w.incarnation}), RefusalKind::kUnknownWorker);
  Hand& other = join("other");
  complete(other, take_assignment(other));
  EXPECT_EQ(state_of(a.task), TaskState::kCompleted);
}

TEST_F(Forget, ADeletedWorkerThatComesBackRegistersAnew) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  kill(w);
  ask_done(DeleteWorker{{}, w.id()});
  take(EventKind::kWorkerDeleted);
  Hand& back = join(worker_info("w"), {2});
  EXPECT_EQ(row(back).times_lost, 0u);
  const Attempt again = take_assignment(back);
  EXPECT_GT(again.epoch, a.epoch);
  complete(back, again);
}

TEST_F(Forget, ThePlaceOfADeletedWorkerIsUsedAgainOnceNoTaskNamesIt) {
  Hand& lost = join("lost");
  const RunId run = submit({node("a")});
  take_and_start(lost);
  kill(lost);  // the task is queued again and names it as its last worker
  const std::uint32_t places = state->workers.size();
  ask_done(DeleteWorker{{}, lost.id()});
  take(EventKind::kWorkerDeleted);
  advance(seconds(5));
  const Task& task = state->tasks[state->runs[state->runs.find(run)].tasks[0]];
  EXPECT_FALSE(task.last_worker().valid());
  Hand& next = join("next");
  EXPECT_EQ(state->workers.size(), places) << "the place was used again";
  EXPECT_EQ(row(TaskId{run, 0}).worker, next.id());
  complete(next, take_assignment(next));
  for (int i = 0; i < 50; ++i) {
    Hand& h = join("w" + std::to_string(i));
    kill(h);
    ask_done(DeleteWorker{{}, h.id()});
    take(EventKind::kWorkerDeleted);
    advance(seconds(5));
  }
  EXPECT_LE(state->workers.size(), places + 3);
}

TEST_F(Forget, AWaitingTaskIsExplainedWithoutWorkersThatWereForgotten) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  take_and_start(w);
  kill(w);
  ask_done(DeleteWorker{{}, w.id()});
  take(EventKind::kWorkerDeleted);
  advance(seconds(5));
  const Explanation why = explain(*state, {run, 0}, now);
  EXPECT_EQ(why.reason, WaitReason::kNoSuchWorker);
}

TEST_F(Forget, RetentionForgetsOnlyWorkersThatHaveBeenGoneForLong) {
  Hand& gone = join("gone");
  Hand& stays = join("stays");
  kill(gone);
  long_time();
  EXPECT_FALSE(mirror.workers.contains(gone.id()));
  EXPECT_TRUE(mirror.workers.contains(stays.id()));
  EXPECT_EQ(text(take(EventKind::kWorkerDeleted), "reason"), "retention");
  ignore_everything_from_here();
}

TEST_F(Forget, AForgottenLeaseNeverGivesAnEpochBack) {
  const PartitionKey key{"orders", 7};
  const PartitionKey held{"orders", 8};
  EXPECT_EQ(acquire(key, "a").epoch, (Epoch{1}));
  EXPECT_EQ(acquire(key, "a").epoch, (Epoch{2}));
  ask_done(ReleaseLease{{}, key, AgentId("a"), {2}});
  LeaseGranted kept = acquire(held, "b");
  for (int i = 0; i < 70 * 3; ++i) {
    advance(seconds(20));
    kept = ask<LeaseGranted>(RenewLease{{}, held, AgentId("b"), kept.epoch});
  }
  EXPECT_FALSE(mirror.leases.contains(key));
  EXPECT_TRUE(mirror.leases.contains(held)) << "a lease that is held is never forgotten";
  EXPECT_EQ(mirror.counters.lease_floor, (Epoch{2}));
  reload();
  EXPECT_EQ(ask_in_vain(RenewLease{{}, key, AgentId("a"), {2}}), RefusalKind::kLeaseNotHeld);
  EXPECT_EQ(acquire(key, "c").epoch, (Epoch{3}));
  ignore_everything_from_here();
}

TEST_F(Forget, AFreeLeaseIsKeptForItsTimeAndThenForgottenWithAnEvent) {
  const PartitionKey key{"orders", 7};
  advance(policy.reconcile_interval);  // a pass is now, and again whenever an hour is over
  acquire(key, "a");
  ask_done(ReleaseLease{{}, key, AgentId("a"), {1}});
  advance(hours(1) - micros(1));
  EXPECT_TRUE(mirror.leases.contains(key));
  EXPECT_EQ(count(EventKind::kLeaseForgotten), 0u);
  advance(micros(1));
  EXPECT_FALSE(mirror.leases.contains(key));
  EXPECT_FALSE(state->leases.contains(key));
  const Event forgotten = take(EventKind::kLeaseForgotten);
  EXPECT_EQ(text(forgotten, "topic"), "orders");
  EXPECT_EQ(number(forgotten, "epoch"), 1);
}

TEST_F(Forget, ThePlaceOfAForgottenLeaseServesAnotherPartition) {
  for (const std::uint32_t i : {1u, 2u}) {
    acquire({"old", i}, "a");
    ask_done(ReleaseLease{{}, {"old", i}, AgentId("a"), {1}});
  }
  long_time();
  EXPECT_EQ(take_all(EventKind::kLeaseForgotten).size(), 2u);
  const std::size_t places = state->partitions.size();
  acquire({"new", 1}, "b");
  advance(seconds(10));
  acquire({"new", 2}, "c");
  EXPECT_EQ(state->partitions.size(), places);
  // Each has a place, and so a deadline, of its own.
  advance(seconds(20));
  EXPECT_TRUE(mirror.leases.at({"new", 1}).holder.empty());
  EXPECT_EQ(mirror.leases.at({"new", 2}).holder, AgentId("c"));
  advance(seconds(10));
  EXPECT_TRUE(mirror.leases.at({"new", 2}).holder.empty());
}

TEST_F(Forget, OnePassForgetsTwoHundredLeasesAtMost) {
  expect_clean = false;  // checking all of them after every step takes too long
  for (std::uint32_t i = 0; i < 250; ++i) {
    acquire({"orders", i}, "a");
    ask_done(ReleaseLease{{}, {"orders", i}, AgentId("a"), {1}});
  }
  std::size_t least = mirror.leases.size();
  std::vector<std::size_t> left;
  for (int i = 0; i < 65 * 60 && !mirror.leases.empty(); ++i) {
    advance(seconds(1));
    if (mirror.leases.size() < least) left.push_back(least = mirror.leases.size());
  }
  EXPECT_EQ(left, (std::vector<std::size_t>{50, 0}));
  EXPECT_EQ(take_all(EventKind::kLeaseForgotten).size(), 250u);
}

class KeepsLeases : public LifeTest {
 protected:
  static Policy keeping() {
    Policy policy = test_policy();
    policy.retain_leases = Duration{};
    return policy;
  }
  KeepsLeases() : LifeTest(keeping()) {
    ignore({EventKind::kLeaseAcquired, EventKind::kLeaseReleased});
  }
};

TEST_F(KeepsLeases, ARetentionOfZeroKeepsFreeLeasesForEver) {
  const PartitionKey key{"orders", 7};
  ask<LeaseGranted>(AcquireLease{{}, key, AgentId("a")});
  ask_done(ReleaseLease{{}, key, AgentId("a"), {1}});
  for (int i = 0; i < 30; ++i) advance(minutes(1));
  EXPECT_TRUE(mirror.leases.contains(key));
}

}  // namespace
}  // namespace vortex::core
