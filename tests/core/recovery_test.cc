// When a worker is lost: one transaction, no task lost or doubled, and blame only where it belongs.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Recovery : public LifeTest {
 protected:
  TaskCounters counters(TaskId task) { return row(task).counters; }
};

TEST_F(Recovery, V01_SilenceForAFullLeaseIsOfflineAndNotBefore) {
  ignore_comings_and_goings();
  Hand& w = join("w");
  hush(w);
  advance(policy.worker_lease - millis(1));
  EXPECT_EQ(state_of(w), WorkerState::kIdle);
  advance(millis(1));
  EXPECT_EQ(state_of(w), WorkerState::kOffline);
}

TEST_F(Recovery, V01_AHealthPassRunsEveryInterval) {
  std::size_t passes = 0;
  for (const Instant end = now + policy.health_check_interval * 4; now < end;) {
    now = now + policy.sweep;
    for (const Sample& sample : raw(Tick{}).samples) {
      passes += sample.kind == Sample::Kind::kHealthPass ? 1 : 0;
    }
  }
  EXPECT_EQ(passes, 4u);
}

TEST_F(Recovery, AQuietSystemWritesNoMoreThanASummaryAnHour) {
  Hand& w = join("w");
  ignore_everything_from_here();
  advance(policy.heartbeat_interval);
  events.clear();
  advance(hours(3));
  EXPECT_EQ(take_all(EventKind::kHealthPass).size(), 3u);
  const auto reconciles = take_all(EventKind::kStateReconcileComplete);
  ASSERT_EQ(reconciles.size(), 3u);
  EXPECT_EQ(number(reconciles.front(), "passes"), 60);
  EXPECT_EQ(take_all(EventKind::kStateReconcileStart).size(), 3u);
  EXPECT_TRUE(events.empty()) << to_text(events.front().kind);
  EXPECT_EQ(state_of(w), WorkerState::kIdle);
}

TEST_F(Recovery, A08_TheGapIsMeasuredWhenAWorkersStandingChanges) {
  ignore_everything_from_here();
  Hand& w = join("w");
  cut(w);
  advance(seconds(3));
  w.silent = false;
  poll(w);
  EXPECT_EQ(measured(Sample::Kind::kHeartbeatGap, "suspect").size(), 1u);
  EXPECT_EQ(measured(Sample::Kind::kHeartbeatGap, "recovered"), std::vector<Duration>{seconds(3)});
  hush(w);
  advance(policy.worker_lease);
  const auto offline = measured(Sample::Kind::kHeartbeatGap, "offline");
  ASSERT_EQ(offline.size(), 1u);
  EXPECT_EQ(offline.front(), policy.worker_lease);
  probes.clear();
}

TEST_F(Recovery, A08_WorkDisruptedByRestartsIsCountedByCause) {
  ignore_everything_from_here();
  submit({mapped("m", range(1, 2))});
  Hand& dies = join("dies");
  take_and_start(dies);
  kill(dies);
  Hand& drains = join("drains");
  const Attempt a = take_and_start(drains);
  drains.leaving = Leaving::kDraining;
  end(drains, a, Released{Released::Cause::kDrained});
  EXPECT_EQ(measured(Sample::Kind::kDisruption, "worker_restart").size(), 1u);
  EXPECT_EQ(measured(Sample::Kind::kDisruption, "drain").size(), 1u);
  drains.assigned.clear();
}

TEST_F(Recovery, V02_EveryStateOfAWorkerIsVisible) {
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerDraining});
  ask<Registered>(RegisterWorker{{}, worker_info("new"), {1}});
  EXPECT_EQ(mirror.workers.at(WorkerId("new")).state, WorkerState::kRegistering);
  Hand& w = join("w");
  EXPECT_EQ(state_of(w), WorkerState::kIdle);
  submit({node("a")});
  const Attempt a = take_and_start(w);
  EXPECT_EQ(state_of(w), WorkerState::kRunning);
  ask_done(DrainWorker{{}, w.id()});
  EXPECT_EQ(state_of(w), WorkerState::kDraining);
  complete(w, a);
  EXPECT_EQ(state_of(w), WorkerState::kDraining);
  w.leaving = Leaving::kGone;
  report(w, {});
  EXPECT_EQ(take_refusal(w), SyncRefusal::Why::kOldMessage);  // its open call is let go
  hush(w);
  EXPECT_EQ(state_of(w), WorkerState::kInactive);
  Hand& lost = join("lost");
  kill(lost);
  EXPECT_EQ(state_of(lost), WorkerState::kOffline);
}

TEST_F(Recovery, A02_DeadlineOfADrainReachesTheWorkerOfThatSession) {
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerDraining});
  Hand& w = join("w");
  submit({node("a")});
  take_and_start(w);
  ask_done(DrainWorker{{}, w.id()});
  EXPECT_EQ(w.drain_within, std::nullopt) << "its own limit holds";
  ask_done(DrainWorker{{}, w.id(), seconds(10)});
  EXPECT_EQ(w.drain_within, seconds(10));
  ask_done(DrainWorker{{}, w.id()});
  EXPECT_EQ(w.drain_within, seconds(10)) << "a second order without one does not lift it";
}

TEST_F(Recovery, A02_DeadlineOfADrainOutlivesAControllerThatNobodyHeard) {
  ignore_comings_and_goings();
  ignore({EventKind::kWorkerDraining});
  Hand& w = join("w");
  submit({node("a")});
  take_and_start(w);
  hush(w);
  reload();
  ask_done(DrainWorker{{}, w.id(), seconds(10)});
  EXPECT_EQ(w.drain_within, std::nullopt) << "no call of it is open: it cannot know yet";
  reload();
  w.silent = false;
  poll(w);
  EXPECT_EQ(w.drain_within, seconds(10));
  EXPECT_EQ(w.poll, RequestId{}) << "it was told at once, not when its call had waited long enough";
  hush(w);
  reload();
  ask_done(DrainWorker{{}, w.id(), seconds(5)});
  reload();
  w.silent = false;
  w.leaving = Leaving::kDraining;
  poll(w);
  EXPECT_EQ(w.drain_within, seconds(5)) << "so is one for a worker that drains already";
}

TEST_F(Recovery, V03_RecoveryIsOneTransaction) {
  ignore_comings_and_goings();
  Hand& w = join("w", 4);
  const RunId run = submit({mapped("m", range(1, 3))});
  take_and_start(w);
  take_and_start(w);
  take_assignment(w);
  hush(w);
  const Effects fx = raw(WorkerExited{{}, w.id(), w.incarnation});
  ASSERT_EQ(fx.rows.workers.size(), 1u);
  EXPECT_EQ(fx.rows.workers[0].state, WorkerState::kOffline);
  ASSERT_EQ(fx.rows.tasks.size(), 3u);
  for (const TaskRow& task : fx.rows.tasks) {
    EXPECT_EQ(task.state, TaskState::kQueued);
    EXPECT_TRUE(task.worker.empty());
    EXPECT_EQ(task.epoch, (Epoch{2}));
  }
  ASSERT_EQ(fx.rows.recoveries.size(), 1u);
  EXPECT_EQ(fx.rows.recoveries[0].worker, w.id());
  EXPECT_EQ(fx.rows.recoveries[0].num_tasks, 3u);
  EXPECT_EQ(fx.rows.recoveries[0].evidence, Evidence::kExit);
  EXPECT_EQ(fx.rows.recovery_items.size(), 3u);
  EXPECT_EQ(mirror.tasks_of(run).size(), 3u);
}

TEST_F(Recovery, V03_TheLedgerLearnsTheNewWorker) {
  ignore_comings_and_goings();
  Hand& a = join("a");
  const RunId run = submit({node("n")});
  take_and_start(a);
  kill(a);
  const auto key = std::pair{RecoveryId{1}, TaskId{run, 0}};
  EXPECT_TRUE(mirror.recovery_items.at(key).new_worker.empty());
  reload();  // a new leader knows that the item is open
  Hand& b = join("b");
  complete(b, take_assignment(b));
  const RecoveryItemRow& item = mirror.recovery_items.at(key);
  EXPECT_EQ(item.old_worker, a.id());
  EXPECT_EQ(item.new_worker, b.id());
  EXPECT_EQ(item.old_epoch, (Epoch{1}));
  EXPECT_EQ(item.new_epoch, (Epoch{2}));
}

TEST_F(Recovery, V04_RequeueingTwiceIsHarmlessAndNothingFinishedRunsAgain) {
  ignore_comings_and_goings();
  Hand& w = join("w", 4);
  const RunId run = submit({mapped("m", range(1, 2))});
  complete(w, take_and_start(w));
  take_and_start(w);
  kill(w);
  const std::size_t recoveries = mirror.recoveries.size();
  ask_done(WorkerExited{{}, w.id(), w.incarnation});
  EXPECT_EQ(mirror.recoveries.size(), recoveries);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  EXPECT_EQ(row(TaskId{run, 1}).epoch, (Epoch{2}));
  Hand& other = join("other", 4);
  EXPECT_EQ(other.assigned.size(), 1u);
  complete(other, take_assignment(other));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(mirror.tasks_of(run).size(), 2u);
}

TEST_F(Recovery, V05_ARequeuedTaskGoesOnFromItsLastCheckpoint) {
  ignore_comings_and_goings();
  Hand& w = join("w", 2);
  submit({mapped("m", range(1, 2))});
  const Attempt saved = take_and_start(w);
  take_and_start(w);
  report(w, {{saved, Checkpoint{"half way"}}});
  report(w, {{saved, Checkpoint{"further"}}});
  kill(w);
  Hand& other = join("other", 2);
  for (int i = 0; i < 2; ++i) {
    const Assignment next = other.assigned.front();
    EXPECT_EQ(next.checkpoint, next.attempt.task == saved.task ? "further" : "");
    EXPECT_EQ(next.number, 2u);
    complete(other, take_assignment(other));
  }
}

TEST_F(Recovery, V05_ACheckpointOutlivesTheControllerToo) {
  ignore_comings_and_goings();
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  report(w, {{a, Checkpoint{"half way"}}});
  reload();
  kill(w);
  Hand& other = join("other");
  EXPECT_EQ(other.assigned.front().checkpoint, "half way");
  complete(other, take_assignment(other));
}

class RecoveryLog : public CoreTest {};

TEST_F(RecoveryLog, V13_EveryOfflineAndEveryRequeueIsLogged) {
  Hand& a = join("a");
  const RunId run = submit({node("n")});
  take_and_start(a);
  kill(a);
  EXPECT_EQ(text(take(EventKind::kWorkerCrash), "evidence"), to_text(Evidence::kExit));
  const Event offline = take(EventKind::kWorkerOffline);
  EXPECT_EQ(offline.worker, a.id());
  EXPECT_EQ(number(offline, "tasks_requeued"), 1);
  const Event requeued = take(EventKind::kTaskRequeued);
  EXPECT_EQ(requeued.task, (TaskId{run, 0}));
  EXPECT_EQ(number(requeued, "attempts"), 1);
  EXPECT_EQ(text(requeued, "previous_worker"), "a");
  Hand& b = join("b");
  complete(b, take_assignment(b));
  const Event moved = take(EventKind::kTaskReassigned);
  EXPECT_EQ(number(moved, "attempts"), 2);
  EXPECT_EQ(text(moved, "previous_worker"), "a");
  EXPECT_EQ(text(moved, "new_worker"), "b");
  take(EventKind::kMachineOffline);
  using K = EventKind;
  ignore({K::kWorkerRegistered, K::kWorkerReady, K::kMachineOnline, K::kRunSubmitted,
          K::kTaskClaimed, K::kTaskStarted, K::kTaskComplete, K::kRunComplete, K::kLevelCheck,
          K::kLevelComplete});
}

TEST_F(RecoveryLog, EventsAreNumberedWithoutGapsAndFollowTheLifeOfATask) {
  Hand& w = join("w");
  submit({node("n")});
  const Attempt a = take_and_start(w);
  complete(w, a);
  using K = EventKind;
  const std::vector<K> story{
      K::kMachineOnline, K::kWorkerRegistered, K::kWorkerReady, K::kRunSubmitted,  K::kTaskClaimed,
      K::kTaskStarted,   K::kTaskComplete,     K::kLevelCheck,  K::kLevelComplete, K::kRunComplete};
  ASSERT_EQ(events.size(), story.size());
  for (std::size_t i = 0; i < story.size(); ++i) {
    EXPECT_EQ(to_text(events[i].kind), to_text(story[i]));
    EXPECT_EQ(events[i].seq, i + 1);
  }
  ignore_everything_from_here();
}

TEST_F(Recovery, C01_AWorkerThatNeverSentAHeartbeatIsStale) {
  ignore_comings_and_goings();
  ask<Registered>(RegisterWorker{{}, worker_info("mute"), {1}});
  EXPECT_EQ(mirror.workers.at(WorkerId("mute")).last_heartbeat, kNever);
  advance(policy.worker_lease);
  EXPECT_EQ(mirror.workers.at(WorkerId("mute")).state, WorkerState::kOffline);
}

TEST_F(Recovery, C01_AWorkerThatComesBackInTimeIsNotMarked) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  hush(w);
  advance(policy.worker_lease - seconds(1));
  w.silent = false;
  advance(policy.worker_lease);
  EXPECT_EQ(state_of(w), WorkerState::kRunning);
  EXPECT_TRUE(mirror.recoveries.empty());
  complete(w, a);
}

TEST_F(Recovery, C02_AMachineIsOnlineWhileAnyOfItsWorkersIs) {
  WorkerInfo one = worker_info("one");
  WorkerInfo two = worker_info("two");
  one.machine = two.machine = MachineId("host");
  Hand& a = join(one);
  Hand& b = join(two);
  EXPECT_EQ(take_all(EventKind::kMachineOnline).size(), 1u);
  EXPECT_TRUE(mirror.machines.at(MachineId("host")).online);
  kill(a);
  EXPECT_TRUE(mirror.machines.at(MachineId("host")).online);
  hush(b);
  const Effects last = raw(WorkerExited{{}, b.id(), b.incarnation});
  ASSERT_EQ(last.rows.machines.size(), 1u);  // in the same step as the worker
  EXPECT_FALSE(last.rows.machines[0].online);
  join(two, {2});
  EXPECT_TRUE(mirror.machines.at(MachineId("host")).online);
  ignore_comings_and_goings();
}

TEST_F(Recovery, C02_AWorkerThatMovesTakesItsPresenceAlong) {
  ignore_comings_and_goings();
  WorkerInfo info = worker_info("w");
  join(info);
  info.machine = MachineId("elsewhere");
  join(info, {2});
  EXPECT_FALSE(mirror.machines.at(MachineId("host-of-w")).online);
  EXPECT_TRUE(mirror.machines.at(MachineId("elsewhere")).online);
}

TEST_F(Recovery, C04_ThePassReportsHowManyWereMarkedAndWhichMachines) {
  ignore_comings_and_goings();
  for (const char* name : {"a", "b", "c", "d", "e"}) join(name);
  take_all(EventKind::kHealthPass);
  kill(hands.at("a"));
  kill(hands.at("b"));
  advance(policy.health_check_interval * 2);
  const Event pass = take(EventKind::kHealthPass);
  EXPECT_EQ(number(pass, "marked_offline"), 2);
  EXPECT_EQ(text(pass, "machines"), "host-of-a,host-of-b");
  EXPECT_EQ(count(EventKind::kHealthPass), 0u) << "nothing to tell of the next one";
}

TEST_F(Recovery, AMassOfTasksComesBackSpreadOverAWhile) {
  ignore_comings_and_goings();
  policy.spread_from_tasks = state->policy.spread_from_tasks = 10;
  Hand& w = join("w", 20);
  const RunId run = submit({mapped("m", range(1, 20))});
  w.assigned.clear();
  kill(w);
  std::set<std::int64_t> times;
  for (const TaskRow& task : mirror.tasks_of(run)) {
    EXPECT_LE((task.ready_at - now).us, millis(20).us);
    times.insert(task.ready_at.us);
  }
  EXPECT_GT(times.size(), 5u);
  Hand& other = join("other", 20);
  advance(seconds(1));
  EXPECT_EQ(other.assigned.size(), 20u);
  while (!other.assigned.empty()) complete(other, take_assignment(other));
}

}  // namespace
}  // namespace vortex::core
