// Sub-DAGs: tasks that are runs of their own, what they are given and give back, and that cancels,
// pauses and time limits go down whatever becomes of the controller meanwhile.

#include <memory>

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "model/check.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::HasSubstr;

NodeSpec child(std::string name, std::string of, std::vector<std::string> needs = {}) {
  NodeSpec spec = node(std::move(name), std::move(needs));
  spec.command = {};
  spec.child.emplace().dag = std::move(of);
  return spec;
}

std::shared_ptr<const DagSpec> below(std::string name, std::vector<NodeSpec> nodes) {
  DagSpec spec = dag(std::move(nodes));
  spec.name = std::move(name);
  return std::make_shared<const DagSpec>(std::move(spec));
}

class Children : public LifeTest {
 protected:
  Children() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskDeadLettered, EventKind::kTaskSkipped, EventKind::kTaskRetry,
            EventKind::kTaskRedriven, EventKind::kRunPaused, EventKind::kRunResumed,
            EventKind::kRunCancelRequested, EventKind::kTaskCancelled, EventKind::kChildStarted,
            EventKind::kChildEnded, EventKind::kFinallyStarted, EventKind::kTaskFailed,
            EventKind::kTaskTimeout});
  }

  // One task that is a sub-DAG of one task, between two of its own if wanted.
  DagSpec simple() {
    DagSpec spec = dag({child("load", "region"), node("report", {"load"})});
    spec.dags = {below("region", {node("fetch")})};
    return spec;
  }
  RunId newest() { return {state->counters.next_run.value - 1}; }
};

TEST_F(Children, AChildIsARunOfItsOwnThatHoldsNoWorker) {
  Hand& w = join("w", 1);
  const RunId run = submit(simple());
  const RunId own = newest();
  ASSERT_NE(own, run);
  EXPECT_EQ(row(own).request->parent, run);
  EXPECT_EQ(row(own).request->parent_task, "load");
  EXPECT_EQ(row(own).request->parent_epoch, row({run, 0}).epoch);
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  EXPECT_TRUE(row({run, 0}).worker.empty());
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(own), RunState::kCompleted);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  EXPECT_EQ(row({run, 0}).counters.attempts, 1);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Children, NoReloadMakesTwoOrNone) {
  const RunId run = submit(simple());
  const RunId own = newest();
  for (int i = 0; i < 3; ++i) {
    reload();
    advance(seconds(1));
    EXPECT_EQ(newest(), own);
  }
  Hand& w = join("w", 1);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  complete(w, take_assignment(w));
}

TEST_F(Children, ParamsGoDownAndOutputsComeBack) {
  Hand& w = join("w", 1);
  DagSpec region = dag({node("fetch")});
  region.name = "region";
  region.params = {{.name = "day"}, {.name = "n", .type = ParamType::kNumber}};
  region.outputs = {{"rows", "${{ tasks.fetch.outputs.v }}"}, {"day", "on ${{ params.day }}"}};
  NodeSpec load = child("load", "region", {"list"});
  load.child->params = {{"day", R"("d-${{ params.d }}")"},
                        {"n", R"("${{ tasks.list.outputs.n }}")"}};
  NodeSpec last = node("last", {"load"});
  last.condition = "tasks.load.outputs.rows > 6";
  DagSpec spec = dag({node("list"), load, last});
  spec.dags = {std::make_shared<const DagSpec>(region)};
  SubmitRun command;
  command.dag = spec;
  command.params = R"({"d":7})";
  const RunId run = ask<RunAccepted>(std::move(command)).run;
  complete(w, take_assignment(w), R"({"n":2.50})");
  reload();
  EXPECT_EQ(row(newest()).request->params, R"({"day":"d-7","n":2.50})");
  complete(w, take_assignment(w), R"({"v":7})");
  EXPECT_EQ(state_of({run, 1}), TaskState::kCompleted);
  EXPECT_EQ(*mirror.data.at({run, 1}).outputs, R"({"rows":7,"day":"on d-7"})");
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Children, AParamWithoutAValueFailsTheAttemptAndSaysWhich) {
  Hand& w = join("w", 1);
  NodeSpec load = child("load", "region", {"list"});
  load.child->params = {{"day", R"("${{ tasks.list.outputs.day }}")"}};
  DagSpec spec = dag({node("list"), load});
  spec.dags = {below("region", {node("fetch")})};
  const RunId run = submit(spec);
  complete(w, take_assignment(w), R"({"day":null})");
  EXPECT_EQ(state_of({run, 1}), TaskState::kFailed);
  EXPECT_THAT(row({run, 1}).error_message, HasSubstr("params.day"));
  EXPECT_THAT(row({run, 1}).error_message, HasSubstr("null"));
  EXPECT_EQ(newest(), run);
}

TEST_F(Children, AFailedChildFailsTheAttemptWhichIsTriedAgainByANewRun) {
  Hand& w = join("w", 1);
  DagSpec spec = simple();
  spec.nodes[0] = with_retries(spec.nodes[0], 1);
  spec.dags = {below("region", {with_retries(node("fetch"), 0)})};
  const RunId run = submit(spec);
  const RunId first = newest();
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of(first), RunState::kFailed);
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  EXPECT_EQ(row({run, 0}).counters.failures, 1);
  EXPECT_THAT(row({run, 0}).error_message, HasSubstr(to_text(first)));
  reload();
  advance(minutes(1));
  const RunId second = newest();
  ASSERT_NE(second, first);
  EXPECT_EQ(row(second).request->parent_epoch, row({run, 0}).epoch);
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Children, AnOperatorsRetryMakesANewChildAndTheOldOneStaysAsItIs) {
  Hand& w = join("w", 1);
  DagSpec spec = simple();
  spec.nodes[0] = with_retries(spec.nodes[0], 0);
  spec.dags = {below("region", {with_retries(node("fetch"), 0), node("other")})};
  const RunId run = submit(spec);
  const RunId first = newest();
  fail(w, take_assignment(w));
  complete(w, take_assignment(w));
  ASSERT_EQ(state_of(run), RunState::kFailed);
  const auto image = std::make_shared<const RunImage>(mirror.run_image(first));
  EXPECT_EQ(ask<Refusal>(RetryTask{{}, {first, 0}, image}).kind, RefusalKind::kWrongState);
  const auto whole = std::make_shared<const RunImage>(mirror.run_image(run));
  ask_done(RetryTask{{}, {run, 0}, whole});
  EXPECT_NE(newest(), first);
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Children, ACancelGoesDownSeveralLevelsAtOnceAndTheTaskWaitsForTheEnd) {
  Hand& w = join("w", 1);
  DagSpec spec = dag({child("a", "middle")});
  spec.dags = {below("lowest", {node("work"), node("more", {"work"})}),
               below("middle", {child("b", "lowest")})};
  const RunId run = submit(spec);
  const RunId lowest = newest();
  const Attempt attempt = take_and_start(w);
  ask_done(CancelRun{{}, run});
  EXPECT_EQ(row(lowest).ending, RunEnding::kCancelled);
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  EXPECT_EQ(row({run, 0}).stop, StopReason::kCancel);
  reload();
  advance(millis(1));
  EXPECT_EQ(take_stop(w).attempt, attempt);
  end(w, attempt, Failed{Failed::Cause::kSignal, 15, "stopped"});
  EXPECT_EQ(state_of(lowest), RunState::kCancelled);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCancelled);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Children, FinallyOfAChildRunsWhenItsParentIsCancelled) {
  Hand& w = join("w", 1);
  NodeSpec last = node("cleanup");
  last.finally = true;
  DagSpec spec = dag({child("a", "region")});
  spec.dags = {below("region", {node("work", {}), last})};
  const RunId run = submit(spec);
  const Attempt attempt = take_and_start(w);
  ask_done(CancelRun{{}, run});
  take_stop(w);
  end(w, attempt, Failed{Failed::Cause::kSignal, 15, "stopped"});
  EXPECT_EQ(state_of(run), RunState::kRunning);
  ask_done(CancelRun{{}, run});  // once more: what cleans up goes on
  reload();
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Children, AChildThatSomebodyCancelsFailsTheAttempt) {
  DagSpec spec = simple();
  spec.nodes[0] = with_retries(spec.nodes[0], 0);
  const RunId run = submit(spec);
  ask_done(CancelRun{{}, newest()});
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_THAT(row({run, 0}).error_message, HasSubstr("was cancelled"));
}

TEST_F(Children, PausesHoldWhatIsBelowAndNothingElse) {
  DagSpec spec = dag({child("a", "middle")});
  spec.dags = {below("lowest", {node("work")}), below("middle", {child("b", "lowest")})};
  const RunId run = submit(spec);
  const RunId lowest = newest();
  ask_done(PauseRun{{}, run, true});
  Hand& w = join("w", 1);
  reload();
  advance(millis(1));
  advance(seconds(5));
  EXPECT_TRUE(w.assigned.empty());
  EXPECT_FALSE(row(lowest).paused);
  const Explanation why = explain(*state, {lowest, 0}, now);
  EXPECT_EQ(why.reason, WaitReason::kRunPaused);
  ask_done(PauseRun{{}, lowest, true});
  ask_done(PauseRun{{}, run, false});
  advance(seconds(1));
  EXPECT_TRUE(w.assigned.empty());
  ask_done(PauseRun{{}, lowest, false});
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Children, TheTimeLimitOfTheTaskEndsItsRun) {
  DagSpec spec = simple();
  spec.nodes[0] = with_retries(spec.nodes[0], 0);
  spec.nodes[0].execution_timeout = minutes(5);
  const RunId run = submit(spec);
  const RunId own = newest();
  advance(minutes(4));
  reload();
  EXPECT_EQ(row(own).ending, RunEnding::kNone);
  advance(minutes(2));
  EXPECT_EQ(state_of(own), RunState::kFailed);
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_THAT(row({run, 0}).error_message, HasSubstr("timed out"));
  EXPECT_EQ(row({run, 0}).counters.stalls, 1);
}

TEST_F(Children, PriorityIsAddedToThatOfTheTasksBelow) {
  NodeSpec load = child("load", "region");
  load.priority = 10;
  DagSpec spec = dag({load});
  spec.dags = {below("region", {node("urgent")})};
  NodeSpec plain = node("plain");
  plain.priority = 5;
  const RunId other = submit({plain});
  const RunId run = submit(spec);
  reload();
  Hand& w = join("w", 1);
  const Attempt first = take_assignment(w);
  EXPECT_NE(first.task.run, other);
  complete(w, first);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Children, AMapOfThemKeepsItsLimitsAndGivesEachItsItem) {
  Hand& w = join("w", 1);
  NodeSpec load = child("load", "region");
  load.map = list({"eu", "us", "asia"});
  load.map->max_parallel = 2;
  load.child->params = {{"region", R"("${{ map.item }}")"}, {"at", R"("${{ map.index }}")"}};
  DagSpec spec = dag({load});
  spec.dags = {below("region", {node("fetch")})};
  const RunId run = submit(spec);
  EXPECT_EQ(newest().value, run.value + 2);
  reload();
  EXPECT_EQ(newest().value, run.value + 2);
  complete(w, take_assignment(w));
  advance(millis(1));
  ASSERT_EQ(newest().value, run.value + 3);
  EXPECT_EQ(row(newest()).request->params, R"({"region":"asia","at":2})");
  EXPECT_EQ(row(newest()).request->parent_task, "load[2]");
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Children, AMapThatStopsLetsTheRunsGoOnThatItHas) {
  Hand& w = join("w", 2);
  NodeSpec load = with_retries(child("load", "region"), 0);
  load.map = range(1, 5);
  load.map->max_parallel = 2;
  load.map->max_failures = 0;
  DagSpec spec = dag({load});
  spec.dags = {below("region", {with_retries(node("fetch"), 0)})};
  const RunId run = submit(spec);
  const Attempt first = take_assignment(w);
  const Attempt second = take_assignment(w);
  fail(w, first);
  advance(millis(1));
  reload();
  complete(w, second);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(state_of({run, 1}), TaskState::kCompleted);
  EXPECT_EQ(newest().value, run.value + 2);
}

TEST_F(Children, AQuotaThatIsUsedUpFailsTheAttempt) {
  state->policy.quota.runs = 1;
  policy.quota.runs = 1;
  DagSpec spec = simple();
  spec.nodes[0] = with_retries(spec.nodes[0], 0);
  const RunId run = submit(spec);
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_THAT(row({run, 0}).error_message, HasSubstr("live runs"));
}

TEST_F(Children, ExplainNamesTheChildAndHowFarItIs) {
  const RunId run = submit(simple());
  const Explanation why = explain(*state, {run, 0}, now);
  EXPECT_EQ(why.reason, WaitReason::kWaitsForChild);
  ASSERT_FALSE(why.details.empty());
  EXPECT_THAT(why.details[0], HasSubstr("child run " + to_text(newest())));
  EXPECT_THAT(why.details[0], HasSubstr("0 of 1 task completed"));
}

TEST_F(Children, ADagThatNamesOneThatIsNotThereIsRefused) {
  SubmitRun command;
  command.dag = dag({child("load", "nowhere")});
  EXPECT_EQ(ask<Refusal>(std::move(command)).kind, RefusalKind::kDagInvalid);
}

}  // namespace
}  // namespace vortex::core
