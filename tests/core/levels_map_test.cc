// Levels with and without a barrier, and maps: one definition, many tasks.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class Levels : public LifeTest {
 protected:
  Levels() { ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered}); }

  static DagSpec two_levels(bool barrier) {
    DagSpec spec = dag({node("a"), node("b"), node("c", {"a"})});
    spec.barrier_levels = barrier;
    return spec;
  }
};

TEST_F(Levels, WithoutABarrierOnlyNeedsCount) {
  Hand& w = join("w", 4);
  submit(two_levels(false));
  complete(w, take_assignment(w));
  const Attempt b = take_assignment(w);
  complete(w, take_assignment(w));
  complete(w, b);
}

TEST_F(Levels, M05_ABarrierOpensOnlyWhenEveryTaskBelowIsFinal) {
  Hand& w = join("w", 4);
  const RunId run = submit(two_levels(true));
  const Attempt a = take_and_start(w);
  const Attempt b = take_and_start(w);
  complete(w, a);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  EXPECT_EQ(row(run).levels_passed, 0u);
  complete(w, b);
  EXPECT_EQ(row(run).levels_passed, 1u);
  complete(w, take_assignment(w));
  EXPECT_EQ(row(run).levels_passed, 2u);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Levels, M04_ALevelIsCheckedThoroughlyBeforeTheBarrierIsPassed) {
  Hand& w = join("w", 4);
  const RunId run = submit(two_levels(true));
  complete(w, take_assignment(w));
  EXPECT_EQ(count(EventKind::kLevelCheck), 0u);
  complete(w, take_assignment(w));
  const Event check = take(EventKind::kLevelCheck);
  EXPECT_EQ(number(check, "dag_level"), 0);
  EXPECT_EQ(number(check, "complete"), 1);
  const Event complete_event = take(EventKind::kLevelComplete);
  EXPECT_EQ(complete_event.run, run);
  complete(w, take_assignment(w));
}

TEST_F(Levels, M06_EveryLevelIsCheckedBeforeItIsPassedWithABarrierOrWithout) {
  for (const bool barrier : {true, false}) {
    Hand& w = join(barrier ? "with" : "without", 4);
    submit(two_levels(barrier));
    while (!w.held.empty()) complete(w, take_assignment(w));
    w.silent = true;
    const auto checks = take_all(EventKind::kLevelCheck);
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(number(checks[0], "dag_level"), 0);
    EXPECT_EQ(number(checks[1], "dag_level"), 1);
    EXPECT_EQ(take_all(EventKind::kLevelComplete).size(), 2u);
    ask_done(CordonWorker{{}, w.id(), true});
  }
  ignore_everything_from_here();
}

TEST_F(Levels, AFailedTaskEndsItsLevelAndTheNextStartsByItsOwnRule) {
  Hand& w = join("w", 4);
  DagSpec spec = dag({with_retries(node("a"), 0), node("b"), node("c", {"a"}), node("d", {"b"})});
  spec.barrier_levels = true;
  const RunId run = submit(spec);
  fail(w, take_assignment(w));
  const Attempt b = take_assignment(w);
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  complete(w, b);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Levels, EachCompleteLevelIsAnnouncedOnce) {
  Hand& w = join("w");
  DagSpec spec = dag({node("a"), node("b", {"a"}), node("c", {"b"})});
  submit(spec);
  for (int i = 0; i < 3; ++i) complete(w, take_assignment(w));
  const auto levels = take_all(EventKind::kLevelComplete);
  ASSERT_EQ(levels.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(number(levels[static_cast<std::size_t>(i)], "dag_level"), i);
}

class Maps : public Levels {
 protected:
  static NodeSpec mapped_with(MapSpec map, std::uint32_t parallel,
                              std::optional<std::uint32_t> failures = std::nullopt) {
    map.max_parallel = parallel;
    map.max_failures = failures;
    return with_retries(mapped("m", std::move(map)), 0);
  }
};

TEST_F(Maps, AListBecomesOneTaskPerItem) {
  Hand& w = join("w", 8);
  submit({mapped("m", list({"x", "y", "z"})), node("after", {"m"})});
  std::string items;
  for (int i = 0; i < 3; ++i) {
    const Assignment given = w.assigned.front();
    items += std::get<PlannedWork>(given.work).plan->map_item(given.attempt.task.index);
    complete(w, take_assignment(w));
  }
  EXPECT_EQ(items, "xyz");
  complete(w, take_assignment(w));
}

TEST_F(Maps, ARangeBecomesOneTaskPerNumberAndWaitsForItsNeeds) {
  Hand& w = join("w", 8);
  NodeSpec m = mapped("m", range(10, 0, -5));
  m.needs = {"first"};
  const RunId run = submit({node("first"), m});
  EXPECT_FALSE(mirror.tasks.contains({run, 1}));  // made when the map becomes ready
  complete(w, take_assignment(w));
  EXPECT_EQ(w.assigned.size(), 3u);
  EXPECT_EQ(std::get<PlannedWork>(w.assigned.back().work)
                .plan->map_item(w.assigned.back().attempt.task.index),
            "0");
  for (int i = 0; i < 3; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Maps, NeverMoreThanMaxParallelAreOut) {
  Hand& w = join("w", 8);
  const RunId run = submit({mapped_with(range(1, 5), 2)});
  for (int done = 0; done < 5; ++done) {
    const std::size_t left = static_cast<std::size_t>(5 - done);
    EXPECT_EQ(w.held.size(), std::min<std::size_t>(2, left));
    complete(w, take_assignment(w));
  }
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Maps, AParkedItemMovesUpWhileAnotherWaitsForItsRetry) {
  Hand& w = join("w", 8);
  ignore_comings_and_goings();
  NodeSpec m = mapped_with(range(1, 3), 1);
  m.retry = retries(1, seconds(5));
  submit({m});
  const Attempt first = take_assignment(w);
  fail(w, first);
  const Attempt second = take_and_start(w);
  EXPECT_EQ(second.task.index, 1u);
  advance(seconds(6));
  EXPECT_TRUE(w.assigned.empty());  // its backoff is over, but the limit is used
  complete(w, second);
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
}

TEST_F(Maps, UpToMaxFailuresIsASuccess) {
  Hand& w = join("w", 8);
  const RunId run = submit({mapped_with(range(1, 4), 0, 1), node("after", {"m"})});
  fail(w, take_assignment(w));
  for (int i = 0; i < 4; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Maps, WithoutAToleranceOneFailureFailsTheMapButTheOthersRun) {
  Hand& w = join("w", 8);
  const RunId run = submit({mapped_with(range(1, 3), 1)});
  fail(w, take_assignment(w));
  for (int i = 0; i < 2; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Maps, MoreThanMaxFailuresStopsTheRestAndLetsRunningOnesEnd) {
  Hand& w = join("w", 8);
  const RunId run = submit({mapped_with(range(1, 6), 2, 0), node("after", {"m"})});
  const Attempt first = take_assignment(w);
  const Attempt second = take_and_start(w);
  fail(w, first);
  for (std::uint32_t i = 2; i < 6; ++i) EXPECT_EQ(state_of({run, i}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kRunning);
  complete(w, second);
  EXPECT_EQ(state_of({run, 1}), TaskState::kCompleted);
  EXPECT_EQ(state_of({run, 6}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

}  // namespace
}  // namespace vortex::core
