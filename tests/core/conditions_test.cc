// Conditions: what starts, what is skipped and what fails by its `if`, and that every controller
// decides the same.

#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::HasSubstr;

NodeSpec when(NodeSpec node, std::string condition) {
  node.condition = std::move(condition);
  return node;
}

NodeSpec by_rule(NodeSpec node, TriggerRule rule) {
  node.trigger = rule;
  return node;
}

class Conditions : public LifeTest {
 protected:
  Conditions() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskSkipped,
            EventKind::kTaskRetry});
  }
  RunId submit_with(std::vector<NodeSpec> nodes, std::string params) {
    SubmitRun command;
    command.dag = dag(std::move(nodes));
    command.params = std::move(params);
    return ask<RunAccepted>(command).run;
  }
  void retry(TaskId task) {
    ask_done(RetryTask{{}, task, std::make_shared<const RunImage>(mirror.run_image(task.run))});
  }
};

TEST_F(Conditions, AParamDecidesBeforeAnythingRuns) {
  const RunId run = submit_with({when(node("a"), "params.env == \"prod\""),
                                 when(node("b"), "params.env == \"dev\" and params.n >= 2")},
                                R"({"env":"dev","n":2.0})");
  EXPECT_EQ(state_of({run, 0}), TaskState::kSkipped);
  EXPECT_EQ(row({run, 0}).error_message,
            "its condition 'params.env == \"prod\"' is false: params.env is 'dev'");
  EXPECT_EQ(state_of({run, 1}), TaskState::kQueued);
}

TEST_F(Conditions, AnOutputDecidesWhatComesNext) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("list"), when(node("many", {"list"}), "tasks.list.outputs.n > 10"),
                            when(node("few", {"list"}), "tasks.list.outputs.n <= 10")});
  complete(w, take_assignment(w), R"({"n":7})");
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 2}));
}

TEST_F(Conditions, WhatHasNoValueFailsTheTaskAndNamesTheExpression) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("list"), when(node("next", {"list"}), "tasks.list.outputs.n > 10"),
                            node("last", {"next"})});
  complete(w, take_assignment(w), R"({"m":7})");
  EXPECT_EQ(state_of({run, 1}), TaskState::kFailed);
  EXPECT_EQ(row({run, 1}).error_message,
            "cannot evaluate the condition 'tasks.list.outputs.n > 10': tasks.list.outputs.n has "
            "no value; add a default with ??");
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  const auto letter = mirror.dead_letters.begin();
  ASSERT_NE(letter, mirror.dead_letters.end());
  EXPECT_EQ(letter->second.reason, DeathReason::kConditionError);
}

TEST_F(Conditions, AMapIsDecidedOnceForAllOfItsItems) {
  const RunId run = submit_with({when(mapped("m", range(1, 5)), "params.go"), node("a", {"m"})},
                                R"({"go":false})");
  EXPECT_TRUE(mirror.tasks.contains({run, 5}));
  EXPECT_FALSE(mirror.tasks.contains({run, 0}));
  EXPECT_EQ(state_of({run, 5}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Conditions, AReloadDoesNotTellOfASkipAgain) {
  submit_with({when(mapped("m", range(1, 5)), "params.go"), node("b")}, R"({"go":false})");
  const std::uint64_t before = state->counters.next_event;
  reload();
  EXPECT_EQ(state->counters.next_event, before);
}

TEST_F(Conditions, AMapWithoutADecisionFailsAtItsFirstItemAndARetryRunsAllOfIt) {
  Hand& w = join("w", 9);
  NodeSpec m = when(mapped("m", range(1, 5)), "params.go");
  m.map->max_failures = 2;
  const RunId run = submit_with({m, node("b")}, R"({"go":3})");
  const Attempt b = take_assignment(w);
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_THAT(row({run, 0}).error_message, HasSubstr("a number stands where true or false"));
  EXPECT_FALSE(mirror.tasks.contains({run, 1}));
  reload();
  EXPECT_FALSE(mirror.tasks.contains({run, 1}));
  complete(w, b);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  retry({run, 0});
  for (int i = 0; i < 5; ++i) complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Conditions, TheDecisionWaitsForAllThatItRefersTo) {
  Hand& w = join("w", 4);
  // d may start as soon as one of its needs completes, but its condition asks about the other.
  const RunId run = submit({node("a"), node("b"),
                            when(by_rule(node("d", {"a", "b"}), TriggerRule::kOneSuccess),
                                 "tasks.b.outputs.ok ?? false")});
  const Attempt a = take_assignment(w);
  const Attempt b = take_assignment(w);
  complete(w, a);
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  const Explanation why = explain(*state, {run, 2}, now);
  EXPECT_THAT(why.details.back(), HasSubstr("its condition refers to 'b'"));
  reload();
  complete(w, b, R"({"ok":true})");
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 2}));
}

TEST_F(Conditions, AFarTaskThatEndsAfterTheNeedsStillLetsItBeDecided) {
  Hand& w = join("w", 4);
  // c is skipped at once when a fails; b, which the condition of d reads, still runs.
  const RunId run = submit(
      {with_retries(node("a"), 0), node("b"), node("c", {"a", "b"}),
       when(by_rule(node("d", {"c"}), TriggerRule::kAllDone), "succeeded(b) and skipped(c)")});
  const Attempt a = take_assignment(w);
  const Attempt b = take_assignment(w);
  fail(w, a);
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  EXPECT_EQ(state_of({run, 3}), TaskState::kWaiting);
  complete(w, b);
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 3}));
}

TEST_F(Conditions, AnotherControllerKnowsWhatTheOutputsWere) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("list"), node("slow"),
                            when(node("next", {"list", "slow"}), "\"x\" in tasks.list.outputs.l")});
  const Attempt list = take_assignment(w);
  const Attempt slow = take_assignment(w);
  complete(w, list, R"({"l":["x","y"]})");
  reload();
  complete(w, slow);
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 2}));
}

TEST_F(Conditions, ARetryHasTheConditionDecidedAnew) {
  Hand& w = join("w", 4);
  const RunId run =
      submit({with_retries(node("a"), 0),
              when(by_rule(node("repair", {"a"}), TriggerRule::kAllDone), "failed(a)"),
              when(by_rule(node("use", {"a"}), TriggerRule::kAllDone), "succeeded(a)")});
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  const Explanation why = explain(*state, {run, 2}, now);
  EXPECT_THAT(why.details,
              ::testing::ElementsAre("its condition 'succeeded(a)' is false: 'a' failed"));
  const Attempt repair = take_assignment(w);
  EXPECT_EQ(repair.task, (TaskId{run, 1}));
  retry({run, 0});
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  EXPECT_EQ(row({run, 2}).error_message, "");
  complete(w, repair);
  complete(w, take_assignment(w));
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 2}));
}

TEST_F(Conditions, ARetryOfAFarTaskReopensOnlyWhatAskedAboutIt) {
  Hand& w = join("w", 4);
  const RunId run =
      submit({with_retries(node("a"), 0), by_rule(node("b", {"a"}), TriggerRule::kAllDone),
              when(node("c", {"b"}), "succeeded(a)"), when(node("d", {"b"}), "not succeeded(b)")});
  fail(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 2}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kFailed);
  retry({run, 0});
  EXPECT_EQ(state_of({run, 2}), TaskState::kWaiting);
  EXPECT_EQ(state_of({run, 3}), TaskState::kSkipped);
  reload();
  complete(w, take_assignment(w));
  EXPECT_EQ(take_assignment(w).task, (TaskId{run, 2}));
}

TEST_F(Conditions, WhatConditionsReadCountsAgainstTheQuota) {
  Hand& w = join("w", 4);
  submit({node("a"), when(node("b", {"a"}), "\"x\" in tasks.a.outputs.l"), node("c", {"a"})});
  const std::uint64_t before = state->taken.bytes;
  const std::string list = "[\"" + std::string(5'000, 'x') + "\"]";
  complete(w, take_assignment(w), "{\"l\":" + list + ",\"other\":[" + list + "]}");
  // The list itself, and what is kept to find things in it.
  const std::uint64_t counted = ReadValue({Value::Kind::kList, list}).bytes();
  EXPECT_GT(counted, list.size());
  EXPECT_EQ(state->taken.bytes, before + counted);
  complete(w, take_assignment(w));
  EXPECT_EQ(state->taken.bytes, 0u);
}

TEST_F(Conditions, AValueThatIsTooLargeIsAClearError) {
  Hand& w = join("w", 4);
  const RunId run = submit({node("a"), when(node("b", {"a"}), "tasks.a.outputs.t == \"x\"")});
  complete(w, take_assignment(w), "{\"t\":\"" + std::string(20'000, 'x') + "\"}");
  EXPECT_THAT(row({run, 1}).error_message, HasSubstr("tasks.a.outputs.t exceeds 16384 bytes"));
}

TEST_F(Conditions, TasksOfAVeryLargeDagAreDecidedBeforeTheyAreMade) {
  policy.nodes_at_once = state->policy.nodes_at_once = 0;
  Hand& w = join("w", 4);
  const RunId run = submit({node("a"), when(node("b", {"a"}), "false"),
                            when(node("c", {"a"}), "true"), node("d", {"b"})});
  complete(w, take_assignment(w));
  EXPECT_FALSE(mirror.tasks.contains({run, 1}));
  const Explanation why = explain(*state, {run, 1}, now);
  EXPECT_THAT(why.details, ::testing::ElementsAre("its condition 'false' is false"));
  reload();
  EXPECT_FALSE(mirror.tasks.contains({run, 1}));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

// ---- The table of docs/dag-files.md ----

using Ends = std::vector<std::string>;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    std::erase_if(cell, [](char c) { return c == ' ' || c == '`'; });
    cells.push_back(cell);
  }
  return cells;
}

// The rows behind the line that begins the table.
std::vector<std::vector<std::string>> table_in_docs() {
  std::ifstream in(VX_DOCS_DIR "/dag-files.md");
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| rule | both completed")) inside = true;
    if (inside && !line.starts_with('|')) break;
    if (inside && line.starts_with("| `")) rows.push_back(cells_of(line));
  }
  return rows;
}

const std::vector<Ends> kColumns{{"completed", "completed"}, {"completed", "failed"},
                                 {"completed", "skipped"},   {"failed", "failed"},
                                 {"failed", "skipped"},      {"skipped", "skipped"}};

const std::map<std::string, TriggerRule> kRules{
    {"all_success", TriggerRule::kAllSuccess},  {"all_failed", TriggerRule::kAllFailed},
    {"all_done", TriggerRule::kAllDone},        {"one_success", TriggerRule::kOneSuccess},
    {"one_failed", TriggerRule::kOneFailed},    {"none_failed", TriggerRule::kNoneFailed},
    {"none_skipped", TriggerRule::kNoneSkipped}};

class TriggerTable : public Conditions {
 protected:
  std::string outcome(const Ends& ends, TriggerRule rule) {
    std::vector<NodeSpec> nodes;
    for (const std::string& end : ends) {
      NodeSpec need = with_retries(node("n" + std::to_string(nodes.size())), 0);
      if (end == "skipped") need.condition = "false";
      nodes.push_back(need);
    }
    nodes.push_back(by_rule(node("last", {"n0", "n1"}), rule));
    const RunId run = submit(nodes);
    Hand& w = hands.at("w");
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (ends[i] == "skipped") continue;
      const auto held = std::ranges::find_if(
          w.held, [&](const HeldTask& task) { return task.attempt.task == TaskId{run, i}; });
      if (held == w.held.end()) return "a need did not run";
      const Attempt attempt = held->attempt;
      ends[i] == "failed" ? fail(w, attempt) : complete(w, attempt);
    }
    return state_of({run, 2}) == TaskState::kSkipped ? "skipped" : "runs";
  }
};

TEST_F(TriggerTable, HoldsWhatTheDocumentationSays) {
  join("w", 1'000);
  const auto rows = table_in_docs();
  ASSERT_EQ(rows.size(), kRules.size());
  for (const auto& cells : rows) {
    ASSERT_EQ(cells.size(), kColumns.size() + 1);
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      EXPECT_EQ(outcome(kColumns[i], kRules.at(cells[0])), cells[i + 1])
          << cells[0] << ": " << kColumns[i][0] << " and " << kColumns[i][1];
    }
  }
  ignore_everything_from_here();
  hands.at("w").assigned.clear();
}

// ---- Failures that are allowed, and which failures are retried ----

TEST_F(Conditions, AnAllowedFailureSpoilsNeitherTheRunNorWhatNeedsIt) {
  Hand& w = join("w", 4);
  NodeSpec a = with_retries(node("a"), 0);
  a.continue_on_error = true;
  const RunId run = submit({a, node("b", {"a"}), when(node("c", {"a"}), "failed(a)")});
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  reload();
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  retry({run, 0});
  EXPECT_EQ(state_of(run), RunState::kRunning);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Conditions, ACancelIsNoAllowedFailure) {
  NodeSpec a = node("a");
  a.continue_on_error = true;
  const RunId run = submit({a, node("b", {"a"})});
  ask_done(CancelTask{{}, {run, 0}});
  take(EventKind::kTaskCancelled);
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Conditions, OnlyTheNamedCausesAreRetried) {
  Hand& w = join("w", 4);
  NodeSpec a = with_retries(node("a"), 3);
  a.retry->on = {RetryCause::kOutOfMemory};
  a.retry->backoff.delay = {};
  const RunId run = submit({a});
  end(w, take_assignment(w), Failed{Failed::Cause::kOutOfMemory, 137, "oom"});
  fail(w, take_assignment(w));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(mirror.dead_letters.begin()->second.reason, DeathReason::kNotRetryable);
}

TEST_F(Conditions, OnlyTheNamedExitCodesAreRetried) {
  Hand& w = join("w", 4);
  NodeSpec a = with_retries(node("a"), 3);
  a.retry->only_exit = {75};
  a.retry->backoff.delay = {};
  const RunId run = submit({a});
  fail(w, take_assignment(w), 75);
  fail(w, take_assignment(w), 1);
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
}

}  // namespace
}  // namespace vortex::core
