// Coming back from the rows: nothing that was promised is forgotten, contradictions are repaired.

#include "core/load.h"

#include "core/machine.h"
#include "core/reconcile.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Load : public LifeTest {
 protected:
  Load() { ignore({EventKind::kTaskRequeued, EventKind::kTaskReassigned}); }
};

TEST_F(Load, RunningTasksAreNotDisturbedByANewLeader) {
  Hand& w = join("w", 2);
  const RunId run = submit({node("a"), node("b", {"a"}), node("c")});
  const Attempt a = take_and_start(w);
  const Attempt c = take_and_start(w);
  reload();
  complete(w, a);
  const Attempt b = take_assignment(w);
  reload();
  complete(w, b);
  reload();
  complete(w, c);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  for (const TaskRow& task : mirror.tasks_of(run)) EXPECT_EQ(task.counters.attempts, 1u);
}

TEST_F(Load, AnAssignmentThatNeverArrivedIsDeliveredByTheNewLeader) {
  Hand& w = join("w");
  hush(w);
  submit({node("a")});
  w.silent = false;
  reload();
  const Attempt a = take_assignment(w);
  EXPECT_EQ(a.epoch, (Epoch{1}));
  complete(w, a);
}

TEST_F(Load, FinishedRunsStayInTheStore) {
  Hand& w = join("w");
  submit({node("a")});
  complete(w, take_assignment(w));
  reload();
  EXPECT_EQ(state->runs.size(), 0u);
  EXPECT_EQ(state->tasks.live(), 0u);
}

TEST_F(Load, ABackoffGoesOnWhereItWas) {
  Hand& w = join("w");
  submit({with_retries(node("a"), 1)});
  fail(w, take_assignment(w));
  take(EventKind::kTaskFailed);
  reload();
  EXPECT_TRUE(w.assigned.empty());
  advance(seconds(1));
  complete(w, take_assignment(w));
}

TEST_F(Load, WhatWaitsKeepsItsTurn) {
  const RunId first = submit({mapped("m", range(1, 3))});
  const RunId second = submit({mapped("m", range(1, 2))});
  reload();
  Hand& w = join("w");
  const TaskId turns[] = {{first, 0}, {first, 1}, {first, 2}, {second, 0}, {second, 1}};
  for (const TaskId& turn : turns) {
    const Attempt next = take_assignment(w);
    EXPECT_EQ(next.task, turn);
    complete(w, next);
  }
}

TEST_F(Load, ALimitOfParallelTasksHoldsWhateverOrderTheRowsAreIn) {
  Hand& w = join("w", 4);
  NodeSpec m = mapped("m", range(1, 3));
  m.map->max_parallel = 2;
  m.retry = retries(1, millis(1));
  submit({m});
  fail(w, take_assignment(w));  // the first item goes to the end of the line
  take(EventKind::kTaskFailed);
  EXPECT_EQ(w.held.size(), 2u);
  advance(seconds(1));
  reload();
  EXPECT_EQ(w.held.size(), 2u);
  while (!w.held.empty()) complete(w, w.held.front().attempt);
  w.assigned.clear();
}

TEST_F(Load, TheWatchdogThatWasAskedForWatchesOn) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.stale_after = seconds(60);
  submit({spec});
  const Attempt a = take_and_start(w);
  reload();
  advance(seconds(65));
  ASSERT_EQ(w.stops.size(), 1u);
  EXPECT_EQ(take_stop(w).why, StopOrder::Why::kStale);
  complete(w, a);
}

TEST_F(Load, TheBackstopOfTheExecutionTimeoutIsNotPutOff) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.execution_timeout = seconds(60);
  submit({spec});
  const Attempt a = take_and_start(w);
  reload();
  advance(seconds(60) + policy.kill_time + policy.heartbeat_interval * 2);
  ASSERT_EQ(w.stops.size(), 1u);
  EXPECT_EQ(take_stop(w).why, StopOrder::Why::kExecutionTimeout);
  complete(w, a);
}

TEST_F(Load, TheNodesOwnScheduledTimeoutCountsUnderANewLeaderToo) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.scheduled_timeout = seconds(70);
  submit({spec});
  const Attempt a = take_assignment(w);
  reload();
  advance(seconds(75));
  ASSERT_EQ(w.stops.size(), 1u);
  EXPECT_EQ(take_stop(w).why, StopOrder::Why::kNotStartedInTime);
  complete(w, a);
}

TEST_F(Load, ARetryStillKeepsAwayFromItsLastWorker) {
  Hand& a = join("a", 2);
  submit({with_retries(node("n"), 3)});
  const Attempt first = take_assignment(a);
  Hand& b = join("b", 1);
  submit({node("busy")});
  const Attempt busy = take_and_start(b);
  fail(a, first);
  take(EventKind::kTaskFailed);
  reload();
  advance(seconds(2));
  EXPECT_TRUE(a.assigned.empty());
  complete(b, busy);
  complete(b, take_assignment(b));
}

TEST_F(Load, ACancelUnderWayIsCarriedThrough) {
  ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled});
  Hand& w = join("w");
  const RunId run = submit({node("a"), node("b", {"a"})});
  take_and_start(w);
  ask_done(CancelRun{{}, run});
  reload();
  w.stops.resize(1);
  end(w, take_stop(w).attempt, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Load, ARunTimeoutIsNotPutOff) {
  ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled});
  DagSpec spec = dag({node("a")});
  spec.run_timeout = seconds(100);
  const RunId run = submit(spec);
  advance(seconds(90));
  reload();
  advance(seconds(10));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

// After every step these tests compare memory with what a reload would know; here is much of
// everything in it.
TEST_F(Load, AFullLifeIsRememberedFieldByField) {
  ignore_everything_from_here();
  Hand& w = join("w", 3);
  Hand& gone = join("gone");
  NodeSpec m = mapped("m", range(1, 4));
  m.map->max_parallel = 1;
  DagSpec spec = dag({with_retries(node("a"), 2), node("b", {"a"}), m});
  SubmitRun command;
  command.dag = spec;
  command.idempotency_key = "k";
  const RunId run = ask<RunAccepted>(command).run;
  advance(seconds(3));
  kill(gone);
  ask_done(CordonWorker{{}, gone.id(), true});
  ask<LeaseGranted>(AcquireLease{{}, {"orders", 7}, AgentId("x")});
  reload();
  while (!w.assigned.empty()) {
    const Attempt attempt = take_and_start(w);
    w.show(attempt, {40, "half way"});
    report(w, {{attempt, Checkpoint{"c"}}});
  }
  advance(policy.heartbeat_interval);
  reload();
  const auto held = w.held;
  ASSERT_FALSE(held.empty());
  fail(w, held.front().attempt, 7);
  reload();
  advance(seconds(5));
  ask_done(CancelTask{{}, {run, 0}});
  reload();
  ask_done(PauseRun{{}, run, true});
  reload();
  submit({node("alone")});
  advance(seconds(1));
  while (!w.assigned.empty()) fail(w, take_assignment(w), 3);
  reload();
  ask_done(CancelRun{{}, run});
  reload();
}

TEST_F(Load, EveryWorkerHasItsOwnLeaseUnderANewLeader) {
  ignore_comings_and_goings();
  for (const char* name : {"v", "w", "x"}) join(name);
  reload();
  advance(seconds(5));
  report(hands.at("v"), {});
  report(hands.at("w"), {});
  hush(hands.at("v"));
  hush(hands.at("w"));
  advance(policy.worker_lease - micros(1));
  EXPECT_NE(state_of(hands.at("v")), WorkerState::kOffline);
  advance(micros(1));
  EXPECT_EQ(state_of(hands.at("v")), WorkerState::kOffline);
  EXPECT_EQ(state_of(hands.at("w")), WorkerState::kOffline);
  EXPECT_NE(state_of(hands.at("x")), WorkerState::kOffline);
}

TEST_F(Load, AWorkerThatIsNeverHeardByTheNewLeaderIsLostAfterAFullLease) {
  ignore_comings_and_goings();
  for (const char* name : {"v", "w", "x"}) join(name);
  hush(hands.at("v"));
  hush(hands.at("w"));
  advance(seconds(20));
  reload();
  advance(policy.worker_lease - micros(1));
  EXPECT_NE(state_of(hands.at("v")), WorkerState::kOffline);
  EXPECT_NE(state_of(hands.at("w")), WorkerState::kOffline);
  advance(micros(1));
  EXPECT_EQ(state_of(hands.at("v")), WorkerState::kOffline);
  EXPECT_EQ(state_of(hands.at("w")), WorkerState::kOffline);
}

class Reconciler : public LifeTest {
 protected:
  Reconciler() { ignore_comings_and_goings(); }

  // A worker with one running task, so that there are rows to bend.
  TaskId running_task() {
    Hand& w = join("w");
    submit({node("a"), node("b", {"a"})});
    const Attempt a = take_and_start(w);
    hush(w);
    return a.task;
  }
  void expect_repair(const std::string& what) {
    EXPECT_EQ(text(take(EventKind::kStateReconcileFix), "what"), what);
    reload();  // what was repaired is written: nothing is left to repair
    EXPECT_EQ(count(EventKind::kStateReconcileFix), 0u);
  }
};

TEST_F(Reconciler, M04_ATaskOfADeadWorkerIsTakenBackWithALedgerEntry) {
  const TaskId task = running_task();
  mirror.workers.at(WorkerId("w")).state = WorkerState::kOffline;
  mirror.machines.at(MachineId("host-of-w")).online = false;
  reload();
  EXPECT_EQ(state_of(task), TaskState::kQueued);
  ASSERT_EQ(mirror.recoveries.size(), 1u);
  EXPECT_EQ(mirror.recoveries.begin()->second.evidence, Evidence::kReconciler);
  EXPECT_EQ(row(task).counters.crashes, 0u);
  expect_repair("task was assigned to a worker that is gone");
}

TEST_F(Reconciler, M04_ATaskOfAWorkerThatIsUnknownIsTakenBack) {
  const TaskId task = running_task();
  mirror.tasks.at(task).worker = WorkerId("nobody");
  reload();
  EXPECT_EQ(state_of(task), TaskState::kQueued);
  EXPECT_EQ(row(task).epoch, (Epoch{2}));
  expect_repair("held by an unknown worker");
}

TEST_F(Reconciler, M04_ATaskOfAnEarlierLifeIsTakenBackAndTheWorkerIsNotBusy) {
  const TaskId task = running_task();
  mirror.workers.at(WorkerId("w")).incarnation = {2};
  reload();
  EXPECT_EQ(state_of(task), TaskState::kQueued);
  EXPECT_EQ(mirror.workers.at(WorkerId("w")).state, WorkerState::kIdle);
  expect_repair("held by an unknown worker");
}

TEST_F(Reconciler, M04_ATaskWithoutALevelGetsIt) {
  const TaskId task = running_task();
  mirror.tasks.at(task).level.reset();
  reload();
  EXPECT_EQ(row(task).level, 0u);
  expect_repair("task had no level");
}

TEST_F(Reconciler, M04_ALevelMarkedDoneWithOpenTasksIsOpenAgain) {
  const TaskId task = running_task();
  mirror.runs.at(task.run).levels_passed = 1;
  reload();
  EXPECT_EQ(row(task.run).levels_passed, 0u);
  expect_repair("level was marked done with open tasks");
}

TEST_F(Reconciler, M04_AMachineThatDoesNotMatchItsWorkersIsSetRight) {
  running_task();
  mirror.machines.at(MachineId("host-of-w")).online = false;
  reload();
  EXPECT_TRUE(mirror.machines.at(MachineId("host-of-w")).online);
  expect_repair("the status of the machine did not match its workers");
}

TEST_F(Reconciler, M06_RepairsAtLoadStandBetweenAStartAndAnEnd) {
  const TaskId task = running_task();
  mirror.tasks.erase({task.run, 1});
  events.clear();
  reload();
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events.front().kind, EventKind::kStateReconcileStart);
  std::uint64_t seq = events.front().seq;
  for (const Event& event : events) EXPECT_EQ(event.seq, seq++);
  EXPECT_EQ(number(take(EventKind::kStateReconcileComplete), "findings"), 3);
  take(EventKind::kStateReconcileFix);  // of the totals
  take(EventKind::kStateReconcileFix);  // of the run's own counts
  expect_repair("task had no row");
}

TEST_F(Reconciler, M04_ATaskWithoutARowIsMade) {
  const TaskId task = running_task();
  mirror.tasks.erase({task.run, 1});
  reload();
  EXPECT_EQ(state_of({task.run, 1}), TaskState::kWaiting);
  take(EventKind::kStateReconcileFix);  // of the totals
  take(EventKind::kStateReconcileFix);  // of the run's own counts
  expect_repair("task had no row");
}

TEST_F(Reconciler, M04_ThePassRunsEveryMinuteAndIsToldOfOnceAnHourInAQuietSystem) {
  Hand& w = join("w");
  submit({node("a")});
  const Attempt a = take_and_start(w);
  advance(minutes(59));
  EXPECT_EQ(count(EventKind::kStateReconcileStart), 0u);
  advance(minutes(1));
  take(EventKind::kStateReconcileStart);
  const Event done = take(EventKind::kStateReconcileComplete);
  EXPECT_EQ(number(done, "findings"), 0);
  EXPECT_EQ(number(done, "passes"), 60);
  complete(w, a);
}

TEST_F(Reconciler, AContradictionInMemoryAsksForANewLoad) {
  join("w");
  state->machines.at(MachineId("host-of-w")).online = false;  // a bug of ours, as it were
  expect_clean = false;
  expect_reload = true;
  EXPECT_FALSE(check_state(*state, Depth::kLight).empty());
  advance(policy.reconcile_interval - seconds(1));
  Effects fx;
  for (int i = 0; i < 10 && !fx.reload; ++i) {
    now = now + policy.sweep;
    fx = raw(Tick{});
  }
  EXPECT_TRUE(fx.reload);
  ASSERT_GE(fx.findings.size(), 1u);
  EXPECT_NE(fx.findings.front().find("host-of-w"), std::string::npos) << fx.findings.front();
  expect_clean = true;
  reload();
  step(NoteFindings{fx.findings, true});
  EXPECT_EQ(text(take(EventKind::kStateReconcileFix), "what"), fx.findings.front());
  ignore_everything_from_here();
}

TEST_F(Reconciler, CountsFollowFromTheStatesOfTasksWhateverTheRowsSay) {
  const TaskId task = running_task();
  mirror.runs.at(task.run).made[number_of(TaskState::kRunning)] = 5;
  reload();
  EXPECT_EQ(row(task.run).made[number_of(TaskState::kRunning)], 1u);
  EXPECT_EQ(mirror.counters.tasks[number_of(TaskState::kRunning)], 1u);
  expect_repair("count of tasks by state was wrong");
}

TEST_F(Reconciler, TotalsThatFellBelowZeroAreSetRight) {
  running_task();
  mirror.counters.tasks[number_of(TaskState::kRunning)] = std::uint64_t{0} - 3;
  mirror.counters.tasks[number_of(TaskState::kCompleted)] = std::uint64_t{0} - 1;
  reload();
  EXPECT_EQ(mirror.counters.tasks[number_of(TaskState::kRunning)], 1u);
  EXPECT_EQ(mirror.counters.tasks[number_of(TaskState::kCompleted)], 0u);
  expect_repair("totals of tasks by state were wrong");
}

TEST_F(Reconciler, M04_ARunMarkedEndedWithOpenTasksGoesOn) {
  const TaskId task = running_task();
  mirror.runs.at(task.run).state = RunState::kCompleted;
  mirror.runs.at(task.run).finished_at = now;
  reload();
  EXPECT_EQ(state_of(task.run), RunState::kRunning);
  EXPECT_EQ(row(task.run).finished_at, kNever);
  expect_repair("run was marked ended with open tasks");
}

TEST_F(Reconciler, M04_ATaskWithAWrongLevelGetsTheRightOne) {
  const TaskId task = running_task();
  mirror.tasks.at(task).level = 7;
  reload();
  EXPECT_EQ(row(task).level, 0u);
  expect_repair("task had a wrong level");
}

TEST_F(Reconciler, ARowThatCannotBeReadIsNamedAndTheRestGoesOn) {
  const TaskId task = running_task();
  StoreImage image = mirror.image();
  image.damaged.push_back({"task_instances", "r9-L0-0", "state", "'Bogus' is no state", {9}});
  Effects repairs;
  const State loaded = load(policy, {2}, now, 1, image, repairs);
  EXPECT_TRUE(loaded.runs.find(task.run).valid());
  ASSERT_EQ(repairs.events.size(), 1u);
  EXPECT_EQ(repairs.events.front().kind, EventKind::kStateDamaged);
  EXPECT_EQ(repairs.events.front().run, RunId{9});
  EXPECT_EQ(text(repairs.events.front(), "row"), "r9-L0-0");
}

class Barrier : public LifeTest {
 protected:
  // Two tasks in level 0, one of them done, and a gate that waits for both.
  void half_done() {
    DagSpec spec = dag({node("a"), node("b"), node("c", {"a"})});
    spec.barrier_levels = true;
    Hand& w = join("w", 2);
    run = submit(spec);
    first = take_and_start(w);
    second = take_and_start(w);
    run_ix = state->runs.find(run);
  }
  // Ends the first task and gives the findings of that step.
  std::vector<std::string> findings_at_the_end() {
    expect_clean = false;
    expect_reload = true;
    Hand& w = hands.at("w");
    SyncRequest request = request_of(w);
    request.seq = w.seq + 1;
    request.reports = {{first, Completed{}}};
    return raw(Sync{{99}, request}).findings;
  }
  RunId run;
  RunIx run_ix;
  Attempt first;
  Attempt second;
};

TEST_F(Barrier, M05_ACounterOneTooHighPassesNoLevelWithARunningTask) {
  half_done();
  core::Run& r = state->runs[run_ix];
  --r.level_open[0];  // as if both were done
  const auto findings = findings_at_the_end();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(r.levels_passed, 0u);
  EXPECT_TRUE(std::holds_alternative<Waiting>(state->tasks[r.tasks[2]].phase));
  ignore_everything_from_here();
}

TEST_F(Barrier, M05_ANodeCountedAsDoneWithARunningTaskIsNotDone) {
  half_done();
  core::Run& r = state->runs[run_ix];
  NodeRun& b = r.nodes[1];
  ++b.finals;  // counted twice, as it were
  Context cx(*state, now);
  cx.nodes_ended.push_back({run_ix, 1});
  settle_nodes(cx);
  EXPECT_TRUE(cx.fx.reload);
  ASSERT_EQ(cx.fx.findings.size(), 1u);
  EXPECT_NE(cx.fx.findings.front().find("node b"), std::string::npos) << cx.fx.findings.front();
  EXPECT_NE(b.phase, NodePhase::kDone);
  ignore_everything_from_here();
}

TEST_F(Barrier, M04_TheThoroughCheckInPartsFindsWhatOnePassFinds) {
  half_done();
  ++state->runs[run_ix].nodes[1].finals;
  CheckProgress progress;
  while (check_part(*state, progress)) {
  }
  ASSERT_EQ(progress.findings.size(), 1u);
  EXPECT_NE(progress.findings.front().find("count of finished tasks"), std::string::npos);
  EXPECT_EQ(progress.runs, 1u);
  ignore_everything_from_here();
}

}  // namespace
}  // namespace vortex::core
