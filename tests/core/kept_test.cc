// Runs that keep results of earlier ones, and runs that start later.

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Kept : public LifeTest {
 protected:
  Kept() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskSkipped,
            EventKind::kRunCancelRequested, EventKind::kTaskCancelled, EventKind::kRunPaused,
            EventKind::kRunResumed, EventKind::kFinallyStarted, EventKind::kRunStarted});
  }

  static KeptNode one(std::uint32_t node, std::string outputs = {}) {
    return {node, {{"r1-L0-" + std::to_string(node), std::move(outputs)}}};
  }
  RunId submit_kept(std::vector<NodeSpec> nodes, std::vector<KeptNode> kept) {
    SubmitRun command;
    command.dag = dag(std::move(nodes));
    command.kept = std::make_shared<const KeptResults>(KeptResults{{1}, std::move(kept)});
    const RunAccepted accepted = ask<RunAccepted>(command);
    reload();
    return accepted.run;
  }
  RunId submit_at(std::vector<NodeSpec> nodes, Instant at) {
    SubmitRun command;
    command.dag = dag(std::move(nodes));
    command.starts_at = at;
    return ask<RunAccepted>(command).run;
  }
  std::string outputs_of(TaskId task) { return mirror.data.at(task).outputs.value_or(""); }
};

TEST_F(Kept, TasksAreCompletedInTheCommitThatMakesTheRun) {
  Hand& w = join("w", 4);
  const RunId run =
      submit_kept({node("a"), node("b", {"a"}), node("c", {"b"})}, {one(0, R"({"x":1})"), one(1)});
  EXPECT_EQ(state_of(TaskId{run, 0}), TaskState::kCompleted);
  EXPECT_EQ(state_of(TaskId{run, 1}), TaskState::kCompleted);
  EXPECT_EQ(row(TaskId{run, 0}).reused_from, "r1-L0-0");
  EXPECT_EQ(row(TaskId{run, 0}).counters.attempts, 0);
  EXPECT_EQ(outputs_of({run, 0}), R"({"x":1})");
  EXPECT_EQ(row(run).request->rerun_of, RunId{1});
  const Attempt last = take_assignment(w);
  EXPECT_EQ(last.task, (TaskId{run, 2}));
  EXPECT_THAT(explain(*state, {run, 0}, now).details, ElementsAre(HasSubstr("r1-L0-0")));
  complete(w, last);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Kept, ARunOfWhichEverythingIsKeptIsOverAtOnce) {
  const RunId run = submit_kept({node("a"), node("b", {"a"})}, {one(0), one(1)});
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Kept, ConditionsAndMapsReadWhatIsKept) {
  Hand& w = join("w", 4);
  NodeSpec maybe = node("maybe", {"list"});
  maybe.condition = "tasks.list.outputs.go";
  NodeSpec over = node("m", {"list"});
  over.map.emplace().over = MapOver{"${{ tasks.list.outputs.l }}"};
  KeptNode map{2, {{"r1-L1-2", {}}, {"r1-L1-3", {}}}};
  const RunId run = submit_kept({node("list"), maybe, over, node("last", {"m"})},
                                {one(0, R"({"go":false,"l":["a","b"]})"), map});
  EXPECT_EQ(state_of(TaskId{run, 1}), TaskState::kSkipped);
  EXPECT_EQ(row(run).late, (LateCounts{2, 2}));
  EXPECT_EQ(row(TaskId{run, 4}).reused_from, "r1-L1-3");
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 2}));
}

TEST_F(Kept, AMapOfAnotherSizeRunsAgain) {
  Hand& w = join("w", 4);
  const RunId run = submit_kept({mapped("m", list({"a", "b"}))}, {{0, {{"r1-L0-0", {}}}}});
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 0}));
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 1}));
}

TEST_F(Kept, WhatIsNotInReachRunsLikeAnyOther) {
  Hand& w = join("w", 4);
  const RunId run = submit_kept({node("a"), node("b", {"a"})}, {one(1)});
  complete(w, take_assignment(w));
  const Attempt second = take_assignment(w);
  EXPECT_EQ(second.task, (TaskId{run, 1}));
  complete(w, second);
  EXPECT_EQ(row(second.task).reused_from, "");
}

TEST_F(Kept, ARunThatStartsLaterWaitsForItsTime) {
  Hand& w = join("w", 4);
  const Instant due = now + hours(2);
  const RunId run = submit_at({node("a"), mapped("m", list({"x"}))}, due);
  EXPECT_EQ(row(run).starts_at, due);
  advance(minutes(60));
  reload();
  EXPECT_TRUE(w.assigned.empty());
  EXPECT_EQ(state_of(TaskId{run, 0}), TaskState::kWaiting);
  const Explanation why = explain(*state, {run, 0}, now);
  EXPECT_EQ(why.reason, WaitReason::kRunNotBegun);
  EXPECT_EQ(why.moves_at, due);
  advance(minutes(61));
  EXPECT_EQ(row(run).starts_at, kNever);
  EXPECT_EQ(w.assigned.size(), 2U);
  while (!w.assigned.empty()) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Kept, NobodyWasThereWhenItsTimeCame) {
  Hand& w = join("w", 4);
  const RunId run = submit_at({node("a")}, now + minutes(10));
  vanish(minutes(30));
  reload();
  advance(seconds(1));
  EXPECT_EQ(row(run).starts_at, kNever);
  (void)w;
  ignore_everything_from_here();
}

TEST_F(Kept, ATimeThatHasPassedStartsItAtOnce) {
  Hand& w = join("w", 4);
  const RunId run = submit_at({node("a")}, now - minutes(1));
  EXPECT_EQ(row(run).starts_at, kNever);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Kept, TheTimeLimitOfARunCountsFromItsStart) {
  DagSpec spec = dag({node("a")});
  spec.run_timeout = minutes(5);
  SubmitRun command;
  command.dag = spec;
  command.starts_at = now + minutes(10);
  const RunId run = ask<RunAccepted>(command).run;
  advance(minutes(11));
  EXPECT_EQ(state_of(run), RunState::kRunning);
  reload();
  advance(minutes(5));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Kept, ACancelEndsARunThatHasNotStarted) {
  Hand& w = join("w", 4);
  NodeSpec clean = node("clean");
  clean.finally = true;
  const RunId run = submit_at({node("a"), clean}, now + minutes(30));
  ask_done(CancelRun{{}, run});
  EXPECT_EQ(state_of(TaskId{run, 0}), TaskState::kCancelled);
  const Attempt last = take_and_start(w);
  reload();
  advance(minutes(31));
  EXPECT_EQ(state_of(last.task), TaskState::kRunning);
  complete(w, last);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  advance(hours(2));
}

TEST_F(Kept, APausedRunStartsAndStaysPaused) {
  Hand& w = join("w", 4);
  const RunId run = submit_at({node("a")}, now + minutes(10));
  ask_done(PauseRun{{}, run, true});
  advance(minutes(11));
  reload();
  EXPECT_TRUE(w.assigned.empty());
  ask_done(PauseRun{{}, run, false});
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Kept, ARunThatStartsLaterKeepsNothing) {
  SubmitRun command;
  command.dag = dag({node("a")});
  command.starts_at = now + minutes(10);
  command.kept = std::make_shared<const KeptResults>();
  EXPECT_EQ(ask_in_vain(command), RefusalKind::kMalformed);
}

}  // namespace
}  // namespace vortex::core
