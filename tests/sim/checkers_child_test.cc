// 70 to 73: sub-DAGs.

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::Not;

// A run whose only task is a sub-DAG of one task, from the commit on that makes both runs.
struct Family {
  Family() {
    DagSpec below = dag({node("x"), node("y")});
    below.name = "below";
    NodeSpec task = node("a");
    task.command = {};
    task.child.emplace().dag = "below";
    DagSpec spec = dag({task});
    spec.dags = {std::make_shared<const DagSpec>(below)};
    parent = s.submit(spec);
    s.task(a).state = TaskState::kQueued;
    s.task(a).counters.attempts = 1;
    child = make_child(below);
    s.queue({child, 0});
    s.queue({child, 1});
    s.commit();
  }
  RunId make_child(const DagSpec& below) {
    const RunId id = s.submit(below);
    auto request = std::make_shared<RunRequest>();
    request->parent = parent;
    request->parent_index = 0;
    request->parent_epoch = {1};
    s.run(id).request = request;
    return id;
  }
  void end_child(RunState state) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const WorkerId w = s.join("w" + std::to_string(i + 1));
      s.grant({child, i}, w);
      s.commit();
      s.start({child, i});
      s.commit();
      state == RunState::kCompleted ? s.complete({child, i}) : s.die({child, i});
      if (i == 0) s.commit();
    }
    s.end_run(child, state);
  }
  Story s;
  RunId parent{1};
  RunId child;
  TaskId a{parent, 0};
};

TEST(ChildCheckers, AChildThatCompletesAndTheTaskWithItIsClean) {
  Family f;
  f.end_child(RunState::kCompleted);
  f.s.task(f.a).state = TaskState::kCompleted;
  f.s.end_run(f.parent, RunState::kCompleted);
  f.s.commit();
  EXPECT_EQ(f.s.report(), "");
}

TEST(ChildCheckers, TwoRunsOfOneAttemptAreFound) {
  Family f;
  DagSpec below = dag({node("x"), node("y")});
  below.name = "below";
  f.make_child(below);
  f.s.commit();
  EXPECT_THAT(f.s.broken(), Contains("70-one-child-per-attempt"));
}

TEST(ChildCheckers, ARunOfAnotherDagIsFound) {
  Family f;
  DagSpec other = dag({node("z")});
  other.name = "below";
  f.make_child(other);
  f.s.commit();
  EXPECT_THAT(f.s.broken(), Contains("70-one-child-per-attempt"));
}

TEST(ChildCheckers, ATaskThatEndsBeforeItsRunIsFound) {
  Family f;
  f.s.task(f.a).state = TaskState::kCancelled;
  f.s.commit();
  EXPECT_THAT(f.s.broken(), Contains("71-children-end-with-parent"));
}

TEST(ChildCheckers, AnEndThatTheTaskDoesNotLearnOfIsFound) {
  Family f;
  f.end_child(RunState::kCompleted);
  f.s.commit();
  EXPECT_THAT(f.s.broken(), Contains("72-outcome-of-child"));
}

TEST(ChildCheckers, ASuccessWithoutARunThatHadOneIsFound) {
  Family f;
  f.end_child(RunState::kFailed);
  f.s.task(f.a).state = TaskState::kCompleted;
  f.s.commit();
  EXPECT_THAT(f.s.broken(), Contains("72-outcome-of-child"));
}

TEST(ChildCheckers, AGrantBelowACancelOrAPauseIsFound) {
  Family cancelled;
  cancelled.s.run(cancelled.parent).ending = RunEnding::kCancelled;
  cancelled.s.commit();
  cancelled.s.grant({cancelled.child, 0}, cancelled.s.join("w1"));
  cancelled.s.commit();
  EXPECT_THAT(cancelled.s.broken(), Contains("73-held-from-above"));
  Family paused;
  paused.s.run(paused.parent).paused = true;
  paused.s.commit();
  paused.s.grant({paused.child, 0}, paused.s.join("w1"));
  paused.s.commit();
  EXPECT_THAT(paused.s.broken(), Contains("73-held-from-above"));
  Family fine;
  fine.s.grant({fine.child, 0}, fine.s.join("w1"));
  fine.s.commit();
  EXPECT_THAT(fine.s.broken(), Not(Contains("73-held-from-above")));
}

}  // namespace
}  // namespace vortex::sim
