// Groups of runs: no more of them go on at once than their DAG allows, in order of age.

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class Groups : public LifeTest {
 protected:
  Groups() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskCancelled,
            EventKind::kRunCancelRequested, EventKind::kRunWaits, EventKind::kRunBegan,
            EventKind::kRunSkipped, EventKind::kFinallyStarted, EventKind::kTaskRetry,
            EventKind::kScheduleSet, EventKind::kSlotStarted, EventKind::kScheduleTriggered,
            EventKind::kSlotSkipped, EventKind::kRunPaused, EventKind::kRunResumed});
  }
  static DagSpec limited(OnFull on_full = OnFull::kQueue, std::uint32_t limit = 1) {
    DagSpec spec = dag({with_retries(node("only"), 0)});
    spec.name = "sync";
    spec.concurrency = ConcurrencySpec{"${{ params.c }}", limit, on_full};
    return spec;
  }
  SubmitRun command(DagSpec spec, const std::string& params) {
    SubmitRun submit;
    submit.dag = std::move(spec);
    submit.params = params;
    return submit;
  }
  RunId submit_for(const std::string& customer, DagSpec spec = limited()) {
    return ask<RunAccepted>(command(std::move(spec), R"({"c":")" + customer + "\"}")).run;
  }
  bool waits(RunId run) const { return row(run).waits_for_turn; }
  Explanation why(RunId run) { return explain(*state, {run, 0}, now); }
};

TEST_F(Groups, ASecondRunOfAGroupWaitsForItsTurn) {
  Hand& w = join("w", 4);
  const RunId first = submit_for("acme");
  const RunId second = submit_for("acme");
  const RunId other = submit_for("zoo");
  EXPECT_FALSE(waits(first));
  EXPECT_TRUE(waits(second));
  EXPECT_FALSE(waits(other));
  EXPECT_EQ(row(second).request->group, "acme");
  EXPECT_EQ(state_of({second, 0}), TaskState::kWaiting);
  const Attempt work = take_and_start(w);
  take_and_start(w);
  EXPECT_TRUE(w.assigned.empty());
  reload();
  complete(w, work);
  EXPECT_FALSE(waits(second));
  EXPECT_EQ(take_and_start(w).task.run, second);
}

TEST_F(Groups, TurnsAreGivenInOrderOfAgeThroughReloads) {
  Hand& w = join("w", 4);
  std::vector<RunId> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(submit_for("acme"));
  for (const RunId run : runs) {
    reload();
    const Attempt work = take_and_start(w);
    EXPECT_EQ(work.task.run, run);
    EXPECT_TRUE(w.assigned.empty());
    complete(w, work);
  }
}

TEST_F(Groups, WithoutAKeyAllRunsOfTheDagAreOneGroup) {
  Hand& w = join("w", 4);
  DagSpec spec = limited(OnFull::kQueue, 2);
  spec.concurrency->key.clear();
  for (int i = 0; i < 3; ++i) submit(spec);
  take_and_start(w);
  take_and_start(w);
  EXPECT_TRUE(w.assigned.empty());
}

TEST_F(Groups, SkipEndsTheNewRunAtOnceWithItsReason) {
  join("w", 4);
  DagSpec spec = limited(OnFull::kSkip);
  spec.nodes.push_back(with_retries(node("clean"), 0));
  spec.nodes.back().finally = true;
  const RunId first = submit_for("acme", spec);
  const RunId second = submit_for("acme", spec);
  EXPECT_EQ(state_of(second), RunState::kCancelled);
  EXPECT_THAT(row(second).reason, HasSubstr("group 'acme' of DAG 'sync' is full: r1 holds it"));
  EXPECT_EQ(state_of({second, 1}), TaskState::kCancelled);
  EXPECT_EQ(state_of(first), RunState::kRunning);
  hands.at("w").assigned.clear();
}

TEST_F(Groups, ReplaceQueuedKeepsTheNewestInLine) {
  Hand& w = join("w", 4);
  submit_for("acme", limited(OnFull::kReplaceQueued));
  const RunId second = submit_for("acme", limited(OnFull::kReplaceQueued));
  const RunId third = submit_for("acme", limited(OnFull::kReplaceQueued));
  EXPECT_EQ(state_of(second), RunState::kCancelled);
  EXPECT_EQ(row(second).reason, "r3 took its place in line");
  EXPECT_TRUE(waits(third));
  reload();
  complete(w, take_and_start(w));
  EXPECT_EQ(take_and_start(w).task.run, third);
}

TEST_F(Groups, CancelRunningStopsTheOldestAndWaitsForItsEnd) {
  Hand& w = join("w", 4);
  const RunId first = submit_for("acme", limited(OnFull::kCancelRunning));
  const Attempt work = take_and_start(w);
  const RunId second = submit_for("acme", limited(OnFull::kCancelRunning));
  const RunId third = submit_for("acme", limited(OnFull::kCancelRunning));
  EXPECT_EQ(row(first).reason, "r2 replaced it");
  EXPECT_EQ(state_of(second), RunState::kCancelled);
  EXPECT_TRUE(waits(third));
  take_stop(w);
  reload();
  take_stop(w);
  end(w, work, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of(first), RunState::kCancelled);
  EXPECT_EQ(take_and_start(w).task.run, third);
}

TEST_F(Groups, CancellingARunThatWaitsRunsNothingOfIt) {
  Hand& w = join("w", 4);
  DagSpec spec = limited();
  spec.nodes.push_back(with_retries(node("clean"), 0));
  spec.nodes.back().finally = true;
  submit_for("acme", spec);
  const RunId second = submit_for("acme", spec);
  const RunId third = submit_for("acme", spec);
  ask_done(CancelRun{{}, second});
  EXPECT_EQ(state_of(second), RunState::kCancelled);
  EXPECT_EQ(row(second).reason, "");
  reload();
  complete(w, take_and_start(w));
  complete(w, take_and_start(w));  // its finally
  EXPECT_EQ(take_and_start(w).task.run, third);
}

TEST_F(Groups, ASingleTaskOfARunThatWaitsCannotBeCancelled) {
  submit_for("acme");
  const RunId second = submit_for("acme");
  EXPECT_THAT(ask<Refusal>(CancelTask{{}, {second, 0}}).detail, HasSubstr("waits for its turn"));
}

TEST_F(Groups, TheTimeOfARunBeginsWithItsTurn) {
  Hand& w = join("w", 4);
  DagSpec spec = limited();
  spec.run_timeout = minutes(5);
  submit_for("acme", limited());
  const RunId second = submit_for("acme", spec);
  const Attempt work = take_and_start(w);
  advance(minutes(10));
  reload();
  EXPECT_EQ(row(second).timeout_at, kNever);
  complete(w, work);
  EXPECT_EQ(row(second).timeout_at, now + minutes(5));
  take_and_start(w);
}

TEST_F(Groups, AWaitOfARunThatWaitsDoesNotBegin) {
  Hand& w = join("w", 4);
  DagSpec spec = limited();
  spec.nodes.front() = NodeSpec{};
  spec.nodes.front().name = "pause";
  spec.nodes.front().wait.emplace().length = minutes(1);
  submit_for("acme");
  const RunId second = submit_for("acme", spec);
  const Attempt work = take_and_start(w);
  advance(minutes(2));
  EXPECT_EQ(state_of({second, 0}), TaskState::kWaiting);
  complete(w, work);
  EXPECT_EQ(state_of({second, 0}), TaskState::kQueued);
  advance(minutes(1) + seconds(1));
  EXPECT_EQ(state_of(second), RunState::kCompleted);
}

TEST_F(Groups, ARunWhoseKeyHasNoValueIsRefused) {
  const auto refused = [&](const std::string& params) {
    return ask<Refusal>(command(limited(), params)).detail;
  };
  EXPECT_THAT(refused("{}"), HasSubstr("the key of 'concurrency' has no value: there is no"));
  EXPECT_THAT(refused(R"({"c":null})"), HasSubstr("params.c is null; add a default with ??"));
  EXPECT_THAT(refused(R"({"c":[1]})"), HasSubstr("params.c is a list"));
  EXPECT_THAT(refused(R"({"c":")" + std::string(300, 'x') + "\"}"), HasSubstr("300 bytes"));
  EXPECT_THAT(refused(R"({"c":"a\nb"})"), HasSubstr("one line"));
  EXPECT_TRUE(mirror.runs.empty());
}

TEST_F(Groups, NumbersAndBooleansAreKeys) {
  ask<RunAccepted>(command(limited(), R"({"c":7})"));
  EXPECT_EQ(row(RunId{1}).request->group, "7");
  ask<RunAccepted>(command(limited(), R"({"c":true})"));
  EXPECT_EQ(row(RunId{2}).request->group, "true");
}

TEST_F(Groups, ExplainNamesTheGroupItsHolderAndThePlaceInLine) {
  submit_for("acme");
  submit_for("acme");
  const RunId third = submit_for("acme");
  const Explanation reason = why(third);
  EXPECT_EQ(reason.reason, WaitReason::kWaitsForTurn);
  ASSERT_THAT(reason.obstacles, SizeIs(1));
  EXPECT_THAT(
      reason.obstacles[0].what,
      HasSubstr("group 'acme' of DAG 'sync' is full: r1 holds it (limit 1); r3 is number 2"));
  EXPECT_EQ(reason.obstacles[0].action, "vortex runs show r1");
  EXPECT_THAT(standstills(*state, third, now), SizeIs(1));
}

TEST_F(Groups, ARunIsNotBroughtBackIntoAFullGroup) {
  Hand& w = join("w", 4);
  const RunId first = submit_for("acme");
  fail(w, take_and_start(w));
  EXPECT_EQ(state_of(first), RunState::kFailed);
  const RunId second = submit_for("acme");
  const auto image = [&] { return std::make_shared<const RunImage>(mirror.run_image(first)); };
  const Refusal no = ask<Refusal>(RetryTask{{}, {first, 0}, image()});
  EXPECT_EQ(no.kind, RefusalKind::kWrongState);
  EXPECT_THAT(no.detail, HasSubstr("r2 holds it; retry it when that has ended"));
  complete(w, take_and_start(w));
  EXPECT_EQ(state_of(second), RunState::kCompleted);
  ask_done(RetryTask{{}, {first, 0}, image()});
  const RunId third = submit_for("acme");
  EXPECT_TRUE(waits(third));
  reload();
  complete(w, take_and_start(w));
  EXPECT_EQ(take_and_start(w).task.run, third);
}

TEST_F(Groups, ScheduledRunsKeepToTheLimit) {
  Hand& w = join("w", 4);
  DagSpec spec = limited();
  spec.concurrency->key.clear();
  spec.schedule.emplace();
  spec.schedule->every = seconds(10);
  spec.schedule->overlap = Overlap::kAllow;
  auto plan = compile(std::move(spec), {});
  ASSERT_TRUE(plan);
  ask_done(ApplyDag{{}, *plan});
  advance(seconds(25));
  EXPECT_FALSE(waits({1}));
  EXPECT_TRUE(waits({2}));
  complete(w, take_and_start(w));
  EXPECT_EQ(take_and_start(w).task.run, RunId{2});
}

TEST_F(Groups, ManyGroupsAreForgottenWhenTheyAreEmpty) {
  Hand& w = join("w", 100);
  for (int i = 0; i < 50; ++i) submit_for("c" + std::to_string(i));
  EXPECT_THAT(state->groups.all(), SizeIs(50));
  while (!w.assigned.empty()) complete(w, take_and_start(w));
  EXPECT_TRUE(state->groups.all().empty());
}

}  // namespace
}  // namespace vortex::core
