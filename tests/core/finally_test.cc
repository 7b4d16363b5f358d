// `finally`: tasks that run when all others have ended, however the run ended, once each.

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

NodeSpec last(NodeSpec spec) {
  spec.finally = true;
  return spec;
}

class Finally : public LifeTest {
 protected:
  Finally() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskSkipped,
            EventKind::kTaskRetry, EventKind::kFinallyStarted, EventKind::kRunPaused,
            EventKind::kRunResumed, EventKind::kTaskTimeout, EventKind::kRunCancelRequested,
            EventKind::kTaskCancelled});
  }
  RunId submit_one(std::vector<NodeSpec> more = {}) {
    std::vector<NodeSpec> nodes{with_retries(node("work"), 0),
                                last(with_retries(node("clean"), 0))};
    for (NodeSpec& spec : more) nodes.push_back(std::move(spec));
    return submit(std::move(nodes));
  }
  static std::optional<RunResult> told(const Assignment& assignment) {
    return std::get<PlannedWork>(assignment.work).run_result;
  }
  // The result that the task is told of.
  std::optional<RunResult> take_last(Hand& hand, Attempt& attempt) {
    if (hand.assigned.empty()) return std::nullopt;
    const auto result = told(hand.assigned.front());
    attempt = take_assignment(hand);
    return result;
  }
  void retry(TaskId task) {
    ask_done(RetryTask{{}, task, std::make_shared<const RunImage>(mirror.run_image(task.run))});
  }
};

TEST_F(Finally, RunsAfterASuccess) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  const Attempt work = take_assignment(w);
  EXPECT_TRUE(w.assigned.empty());
  reload();
  complete(w, work);
  EXPECT_EQ(state_of(run), RunState::kRunning);
  Attempt clean;
  EXPECT_EQ(take_last(w, clean), RunResult::kCompleted);
  EXPECT_EQ(clean.task, (TaskId{run, 1}));
  reload();
  complete(w, clean);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Finally, RunsAfterAFailureAndTheRunHasFailed) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  fail(w, take_assignment(w));
  Attempt clean;
  EXPECT_EQ(take_last(w, clean), RunResult::kFailed);
  reload();
  complete(w, clean);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Finally, RunsAfterACancelWhenNothingElseIsOpen) {
  Hand& w = join("w", 4);
  const RunId run = submit_one({node("other")});
  const Attempt work = take_and_start(w);
  const Attempt other = take_and_start(w);
  ask_done(CancelRun{{}, run});
  take_stop(w);
  take_stop(w);
  end(w, work, Released{Released::Cause::kStopped});
  reload();
  take_stop(w);  // a new term tells it once more
  EXPECT_TRUE(w.assigned.empty());
  end(w, other, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of(run), RunState::kRunning);
  Attempt clean;
  EXPECT_EQ(take_last(w, clean), RunResult::kCancelled);
  reload();
  start(w, clean);
  EXPECT_EQ(state_of({run, clean.task.index}), TaskState::kRunning);
  complete(w, clean);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Finally, ACancelThatIsRepeatedBeforeItBeginsChangesNothing) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  const Attempt work = take_and_start(w);
  ask_done(CancelRun{{}, run});
  ask_done(CancelRun{{}, run});
  take_stop(w);
  end(w, work, Released{Released::Cause::kStopped});
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 1}));
  EXPECT_EQ(row(run).finally_ending, RunEnding::kNone);
}

TEST_F(Finally, ASecondCancelStopsIt) {
  Hand& w = join("w", 4);
  const RunId run = submit_one({last(node("after", {"clean"}))});
  fail(w, take_assignment(w));
  const Attempt clean = take_and_start(w);
  ask_done(CancelRun{{}, run});
  reload();
  EXPECT_EQ(row(run).finally_ending, RunEnding::kCancelled);
  EXPECT_EQ(row(run).ending, RunEnding::kNone);
  take_stop(w);
  end(w, clean, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of({run, 2}), TaskState::kCancelled);
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Finally, HasATimeLimitOfItsOwn) {
  Hand& w = join("w", 4);
  DagSpec spec = dag({node("work"), last(node("clean"))});
  spec.run_timeout = hours(10);
  spec.finally_timeout = minutes(5);
  const RunId run = submit(spec);
  complete(w, take_assignment(w));
  const Attempt clean = take_and_start(w);
  EXPECT_EQ(row(run).timeout_at, now + minutes(5));
  advance(minutes(4));
  reload();
  advance(seconds(61));
  EXPECT_EQ(row(run).finally_ending, RunEnding::kTimedOut);
  take_stop(w);
  end(w, clean, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

// As with the time limit of the run: whatever the tasks are allowed.
TEST_F(Finally, ARunWhoseFinallyTimedOutHasFailedAlsoIfItsTasksMayFail) {
  Hand& w = join("w", 4);
  NodeSpec clean = last(with_retries(node("clean"), 0));
  clean.continue_on_error = true;
  DagSpec spec = dag({node("work"), clean});
  spec.finally_timeout = minutes(5);
  const RunId run = submit(spec);
  complete(w, take_assignment(w));
  const Attempt attempt = take_and_start(w);
  advance(minutes(5) + seconds(1));
  take_stop(w);
  fail(w, attempt);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Finally, RunsAfterTheRunTimedOut) {
  Hand& w = join("w", 4);
  DagSpec spec = dag({node("work"), last(node("clean"))});
  spec.run_timeout = minutes(5);
  const RunId run = submit(spec);
  const Attempt work = take_and_start(w);
  advance(minutes(5) + seconds(1));
  take_stop(w);
  end(w, work, Released{Released::Cause::kStopped});
  Attempt clean;
  EXPECT_EQ(take_last(w, clean), RunResult::kTimedOut);
  complete(w, clean);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Finally, AFailureOfItsOwnMakesACompletedRunFailed) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  complete(w, take_assignment(w));
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Finally, ItsTasksSeeTheEndingAndTheOutputsInConditions) {
  Hand& w = join("w", 4);
  NodeSpec alarm = last(node("alarm"));
  alarm.condition = "run.result != 'completed'";
  NodeSpec keep = last(node("keep"));
  keep.condition = "(tasks.work.outputs.n ?? 0) > 3 and succeeded(work)";
  const RunId run = submit({node("work"), alarm, keep});
  complete(w, take_assignment(w), R"({"n":4})");
  reload();
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_EQ(row({run, 1}).error_message,
            "its condition 'run.result != 'completed'' is false: run.result is 'completed'");
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Finally, AMapAndNeedsBetweenThemWork) {
  Hand& w = join("w", 9);
  const RunId run =
      submit({node("work"), last(mapped("m", range(1, 3))), last(node("end", {"m"}))});
  complete(w, take_assignment(w));
  for (int i = 0; i < 3; ++i) {
    reload();
    complete(w, take_assignment(w));
  }
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Finally, ACancelledRunThatWasPausedIsNotHeldByThePause) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  const Attempt work = take_and_start(w);
  ask_done(PauseRun{{}, run, true});
  ask_done(CancelRun{{}, run});
  take_stop(w);
  end(w, work, Released{Released::Cause::kStopped});
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Finally, ARetryDoesNotRunItASecondTime) {
  Hand& w = join("w", 4);
  NodeSpec alarm = last(mapped("alarm", range(1, 2)));
  alarm.condition = "run.result == 'completed'";
  const RunId run = submit_one({alarm});
  fail(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
  retry({run, 0});
  reload();
  complete(w, take_assignment(w));
  // What was skipped before it had a task is decided anew.
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_TRUE(w.assigned.empty());
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Finally, NothingElseIsRetriedWhileItRuns) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  fail(w, take_assignment(w));
  const Attempt clean = take_assignment(w);
  EXPECT_EQ(ask_in_vain(RetryTask{{}, {run, 0}, nullptr}), RefusalKind::kWrongState);
  fail(w, clean);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  retry({run, 1});
  reload();
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Finally, AFailedOneOfACancelledRunCanBeRetried) {
  Hand& w = join("w", 4);
  const RunId run = submit_one();
  ask_done(CancelRun{{}, run});
  const Attempt work = take_assignment(w);
  take_stop(w);
  end(w, work, Released{Released::Cause::kStopped});
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCancelled);
  retry({run, 1});
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCancelled);
}

TEST_F(Finally, WorksWithLevelsAndExplainSaysWhatItWaitsFor) {
  Hand& w = join("w", 4);
  DagSpec spec = dag({node("a"), node("b", {"a"}), last(node("clean"))});
  spec.barrier_levels = true;
  const RunId run = submit(spec);
  const Explanation why = explain(*state, {run, 2}, now);
  EXPECT_EQ(why.reason, WaitReason::kOthersOpen);
  for (int i = 0; i < 3; ++i) {
    reload();
    complete(w, take_assignment(w));
  }
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

}  // namespace
}  // namespace vortex::core
