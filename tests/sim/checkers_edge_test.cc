// 11, 12: the life of a task as it is drawn, and that its end is the end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(FinalChecker, FinishedTaskIsQueuedAgain) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.complete(id);
  s.commit();
  s.put_back(id);
  s.commit();
  EXPECT_THAT(s.broken(), Contains("11-final-is-final"));
}

TEST(FinalChecker, FailedTaskIsRunAgainWithoutALoggedAct) {
  for (const bool logged : {false, true}) {
    Story s;
    const TaskId id = s.running_task(s.join("w1"));
    s.die(id);
    s.commit();
    s.task(id).counters = {};
    s.put_back(id);
    s.rows().dead_letters.push_back({{id, {1}}, {}, DeadLetterState::kRedriven, s.now, {}});
    if (logged) s.event(EventKind::kTaskRetry, id);
    s.commit();
    EXPECT_EQ(s.broken().contains("11-final-is-final"), !logged) << s.report();
  }
}

TEST(FinalChecker, SkippedTaskComesBackByItself) {
  Story s;
  const TaskId a = s.running_task(s.join("w1"), dag({node("a"), node("b", {"a"})}));
  s.die(a);
  s.skip({a.run, 1});
  s.commit();
  s.task({a.run, 1}).state = TaskState::kWaiting;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("11-final-is-final"));
}

TEST(FinalChecker, CountersOfAFinishedTaskChange) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.complete(id);
  s.commit();
  ++s.task(id).counters.attempts;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("11-final-is-final"));
}

TEST(FinalChecker, RunEndsWithOpenTasksOrComesBack) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.end_run(id.run, RunState::kCancelled);
  s.run(id.run).ending = RunEnding::kCancelled;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("11-final-is-final"));
  Story t;
  const RunId run = t.running_task(t.join("w1")).run;
  t.complete({run, 0});
  t.end_run(run, RunState::kCompleted);
  t.commit();
  t.end_run(run, RunState::kRunning);
  t.commit();
  EXPECT_THAT(t.broken(), Contains("11-final-is-final"));
}

TEST(EdgeChecker, TakenBackWithoutANewEpoch) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.fail(id);
  s.task(id).epoch = {1};
  s.commit();
  EXPECT_THAT(s.broken(), Contains("12-only-drawn-edges"));
}

TEST(EdgeChecker, StartedBeforeItsGrantWasCommitted) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.commit();
  s.grant(id, w);
  s.start(id);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("12-only-drawn-edges"));
}

TEST(EdgeChecker, QueuedTaskIsSkipped) {
  Story s;
  const TaskId a =
      s.running_task(s.join("w1"), dag({node("a"), node("b", {"a"}, TriggerRule::kAllDone)}));
  s.complete(a);
  s.queue({a.run, 1});
  s.commit();
  s.skip({a.run, 1});
  s.commit();
  EXPECT_THAT(s.broken(), Contains("12-only-drawn-edges"));
}

TEST(EdgeChecker, NoWayOutOfCancelled) {
  Story s;
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.cancel(id);
  s.commit();
  s.put_back(id);
  s.event(EventKind::kTaskRetry, id);
  s.commit();
  EXPECT_THAT(s.broken(), Contains("12-only-drawn-edges"));
}

TEST(EdgeChecker, TaskOfAnUnknownRun) {
  Story s;
  TaskRow row;
  row.id = {{9}, 0};
  row.epoch = {1};
  s.rows().tasks.push_back(row);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("12-only-drawn-edges"));
}

TEST(EdgeChecker, RunningSeenNextAsScheduledUnderANewEpochIsClean) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.fail(id);
  s.grant(id, w);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

}  // namespace
}  // namespace vortex::sim
