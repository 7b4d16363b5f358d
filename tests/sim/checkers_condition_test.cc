// 50, 51, and what 9, 10 and 31 make of conditions and allowed failures.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/check/condition_says.h"
#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

NodeSpec when(NodeSpec node, std::string condition) {
  node.condition = std::move(condition);
  return node;
}

// a runs; b needs it under all_done and has a condition.
struct Conditioned {
  explicit Conditioned(const std::string& condition, bool allowed = false) {
    NodeSpec first = node("a");
    first.continue_on_error = allowed;
    run = s.submit(dag({first, when(node("b", {"a"}, TriggerRule::kAllDone), condition)}));
    s.grant(a, w);
    s.commit();
    s.start(a);
    s.commit();
  }
  void complete(const std::string& outputs) {
    s.complete(a);
    s.rows().task_data.push_back({.id = a, .epoch = {1}, .outputs = outputs});
    s.commit();
  }
  std::set<std::string> granted() {
    s.queue(b);
    s.grant(b, w);
    s.commit();
    return s.broken();
  }
  std::set<std::string> skipped(const std::string& why = {}) {
    s.skip(b);
    s.task(b).error_message = why;
    s.commit();
    return s.broken();
  }
  Story s;
  WorkerId w = s.join("w1");
  RunId run{1};
  TaskId a{run, 0};
  TaskId b{run, 1};
};

TEST(ConditionChecker, AStartAgainstTheConditionIsFound) {
  Conditioned value("tasks.a.outputs.v >= 2");
  value.complete(R"({"v":1})");
  EXPECT_THAT(value.granted(), Contains("09-needs-met"));
  Conditioned end("failed(a)");
  end.complete("{}");
  EXPECT_THAT(end.granted(), Contains("09-needs-met"));
}

TEST(ConditionChecker, AStartAsTheConditionSaysIsClean) {
  Conditioned value("tasks.a.outputs.v >= 2 and not failed(a)");
  value.complete(R"({"v":2})");
  EXPECT_THAT(value.granted(), ElementsAre());
  Conditioned fallback("(tasks.a.outputs.v ?? 3) >= 3");
  fallback.complete("{}");
  EXPECT_THAT(fallback.granted(), ElementsAre());
}

TEST(ConditionChecker, ASkipNeedsAConditionThatIsFalse) {
  Conditioned fine("tasks.a.outputs.v >= 2");
  fine.complete(R"({"v":1})");
  EXPECT_THAT(fine.skipped("its condition is false"), ElementsAre());
  Conditioned wrong("tasks.a.outputs.v >= 2");
  wrong.complete(R"({"v":2})");
  EXPECT_THAT(wrong.skipped("its condition is false"),
              ElementsAre("10-hopeless-is-skipped", "50-conditions-decide"));
}

TEST(ConditionChecker, OnlyAMissingValueLetsATaskFailByItsCondition) {
  for (const bool there : {false, true}) {
    Conditioned c("tasks.a.outputs.v >= 2");
    c.complete(there ? R"({"v":5})" : "{}");
    c.s.task(c.b).state = TaskState::kFailed;
    c.s.rows().dead_letters.push_back(
        {{c.b, {1}}, DeathReason::kConditionError, DeadLetterState::kOpen, c.s.now, "no value"});
    c.s.commit();
    EXPECT_EQ(c.s.broken().contains("50-conditions-decide"), there) << c.s.report();
  }
}

TEST(ConditionChecker, ARunThatEndedHasDoneWhatItsConditionsSay) {
  for (const bool fine : {true, false}) {
    Conditioned c(fine ? "failed(a)" : "succeeded(a)");
    c.complete("{}");
    c.s.skip(c.b);
    c.s.end_run(c.run, RunState::kCompleted);
    c.s.commit();
    EXPECT_EQ(c.s.broken().contains("50-conditions-decide"), !fine) << c.s.report();
  }
}

TEST(ConditionChecker, AnAllowedFailureDoesNotFailTheRun) {
  for (const bool allowed : {true, false}) {
    Conditioned c("failed(a)", allowed);
    c.s.die(c.a);
    c.s.commit();
    c.s.queue(c.b);
    c.s.grant(c.b, c.w);
    c.s.commit();
    c.s.start(c.b);
    c.s.commit();
    c.s.complete(c.b);
    c.s.end_run(c.run, RunState::kCompleted);
    c.s.commit();
    EXPECT_EQ(c.s.broken().contains("31-run-end-follows"), !allowed) << c.s.report();
  }
}

TEST(ConditionChecker, WhatIsNotToBeRetriedIsTheLastTry) {
  for (const bool named : {true, false}) {
    Story s;
    const WorkerId w = s.join("w1");
    NodeSpec spec = node("a");
    spec.retry.emplace();
    spec.retry->on = {named ? RetryCause::kFailed : RetryCause::kOutOfMemory};
    const TaskId a = s.running_task(w, dag({spec}));
    s.fail(a);
    s.commit();
    EXPECT_EQ(s.broken().contains("51-only-named-causes"), !named) << s.report();
  }
}

TEST(ConditionChecker, ReadsTheFormsThatAreDrawn) {
  const ConditionView view{.end_of =
                               [](std::string_view task) {
                                 if (task == "open") return NamedEnd::kOpen;
                                 return task == "bad" ? NamedEnd::kFailed : NamedEnd::kSucceeded;
                               },
                           .value_of = [](std::string_view task) -> std::optional<std::int64_t> {
                             if (task == "none") return std::nullopt;
                             return 2;
                           },
                           .param = 2};
  using enum ConditionSays;
  EXPECT_EQ(read_drawn("true", view), kYes);
  EXPECT_EQ(read_drawn("not true", view), kNo);
  EXPECT_EQ(read_drawn("params.n == 2 and not params.n == 3", view), kYes);
  EXPECT_EQ(read_drawn("failed(bad) and succeeded(good)", view), kYes);
  EXPECT_EQ(read_drawn("true or skipped(open)", view), kOpen);
  EXPECT_EQ(read_drawn("tasks.n1.outputs.v >= 3 or tasks.n1.outputs.v >= 2", view), kYes);
  EXPECT_EQ(read_drawn("tasks.none.outputs.v >= 3", view), kUnclear);
  EXPECT_EQ(read_drawn("false and tasks.none.outputs.v >= 3", view), kNo);
  EXPECT_EQ(read_drawn("not (tasks.none.outputs.v ?? 1) >= 2", view), kYes);
}

}  // namespace
}  // namespace vortex::sim
