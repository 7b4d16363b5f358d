// Waits and `finally` in DAG files: what they say, and what is told of their mistakes.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/dag_file.h"
#include "codec/dag_json.h"

namespace vortex::codec {
namespace {

DagSpec read_plan_of(std::string_view yaml) {
  auto plan = check_dag_file(yaml, Syntax::kYaml, {});
  if (plan) return (*plan)->spec;
  for (const DagComplaint& c : plan.error()) {
    ADD_FAILURE() << yaml << "\n" << to_text(c.problem, "file", "");
  }
  return {};
}

struct Mistake {
  std::string yaml;
  std::uint32_t line;
  std::uint32_t column;
  std::string_view message;    // a part of it
  std::string_view help = "";  // a part of it
};

void expect_mistake(const Mistake& bad) {
  const auto plan = check_dag_file(bad.yaml, Syntax::kYaml, {});
  ASSERT_FALSE(plan) << bad.yaml << "\nis accepted";
  std::string all;
  for (const DagComplaint& c : plan.error()) all += to_text(c.problem, "file", "");
  const Problem& p = plan.error().front().problem;
  const bool fits = p.line == bad.line && p.column == bad.column &&
                    p.message.find(bad.message) != p.message.npos &&
                    p.help.find(bad.help) != p.help.npos && plan.error().size() == 1;
  EXPECT_TRUE(fits) << bad.yaml << "\nwanted " << bad.line << ":" << bad.column << " "
                    << bad.message << " [" << bad.help << "], got\n"
                    << all;
}

constexpr std::string_view kWaits = R"(
name: d
defaults: {retries: 2, queue: gpu, env: {A: b}}
tasks:
  build: {run: [x]}
  cool-down: {needs: build, wait: {for: 1h}}
  maintenance: {wait: {until: "2026-12-01T02:00:00Z"}}
  go: {needs: build, wait: {signal: release, timeout: 1d}, outputs: [version]}
  ok: {needs: build, wait: {approval: "Deploy?", by: [submitter, operator], timeout: 2d}}
  usual: {wait: {approval: "Sure?"}, if: "true", continue_on_error: true}
  last: {needs: [go, ok], run: [y, "${{ tasks.go.outputs.version }}"]}
)";

TEST(DagWaits, SayWhatTheyWaitFor) {
  const DagSpec dag = read_plan_of(kWaits);
  ASSERT_EQ(dag.nodes.size(), 7U);
  const auto wait = [&](std::size_t node) { return dag.nodes[node].wait.value_or(WaitSpec{}); };
  EXPECT_EQ(wait(1).kind, WaitKind::kFor);
  EXPECT_EQ(wait(1).length, hours(1));
  EXPECT_EQ(wait(2).kind, WaitKind::kUntil);
  EXPECT_EQ(wait(2).until.seconds, 1'796'090'400);
  EXPECT_EQ(wait(3).kind, WaitKind::kSignal);
  EXPECT_EQ(wait(3).text, "release");
  EXPECT_EQ(wait(3).timeout, hours(24));
  EXPECT_EQ(wait(4).kind, WaitKind::kApproval);
  EXPECT_EQ(wait(4).by, (std::vector{Role::kSubmitter, Role::kOperator}));
  EXPECT_EQ(wait(5).by, (std::vector{Role::kOperator, Role::kAdmin}));
}

TEST(DagWaits, TakeNothingFromTheDefaultsOfCommands) {
  const DagSpec dag = read_plan_of(kWaits);
  EXPECT_TRUE(dag.nodes[0].retry.has_value());
  EXPECT_FALSE(dag.nodes[1].retry.has_value());
  EXPECT_EQ(dag.nodes[1].requirements, Requirements{});
  EXPECT_TRUE(dag.nodes[1].command.env.empty());
}

constexpr std::string_view kFinallyFile = R"yaml(
name: d
finally_timeout: 10m
tasks:
  work: {run: [x], outputs: [n]}
finally:
  clean: {run: [y, "${{ run.result }}", "${{ tasks.work.outputs.n ?? 0 }}"]}
  tell: {needs: clean, if: "run.result != 'completed' or failed(work)", run: [z]}
)yaml";

TEST(DagFinally, TasksRunLastAndSeeTheEndingAndTheOthers) {
  const auto plan = check_dag_file(kFinallyFile, Syntax::kYaml, {});
  ASSERT_TRUE(plan);
  const DagSpec& dag = (*plan)->spec;
  EXPECT_EQ(dag.finally_timeout, minutes(10));
  EXPECT_FALSE(dag.nodes[0].finally);
  EXPECT_TRUE(dag.nodes[1].finally);
  EXPECT_EQ((*plan)->finally, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ((*plan)->nodes[1].level, 1U);
  EXPECT_EQ((*plan)->nodes[2].level, 2U);
}

TEST(DagFinally, WhatIsWrittenReadsTheSame) {
  for (const std::string_view yaml : {kWaits, kFinallyFile}) {
    const DagSpec dag = read_plan_of(yaml);
    const auto again = read_dag(write_dag(dag));
    ASSERT_TRUE(again) << write_dag(dag);
    EXPECT_EQ(digest_of(*again), digest_of(dag)) << write_dag(dag);
  }
}

TEST(DagWaits, MistakesAreToldWithTheirPlace) {
  const auto of = [](std::string_view members) {
    return fmt::format("name: d\ntasks:\n  a:\n    {}\n", members);
  };
  const std::vector<Mistake> all{
      {of("wait: 1h"), 4, 11, "must be a map", "wait: {for: 1h}"},
      {of("wait: {}"), 4, 11, "none of for, until, signal and approval", "{for: 1h}"},
      {of("wait: {for: 1h, signal: s}"), 4, 21, "more than one of", "one task for each"},
      {of("wait: {for: 0s}"), 4, 17, "must be more than 0"},
      {of("wait: {for: 500d}"), 4, 17, "the allowed range is"},
      {of("wait: {until: tomorrow}"), 4, 19, "is not a time", "2026-12-01T02:00:00Z"},
      {of("wait: {until: 2026-12-01 02:00}"), 4, 19, "has no offset", "T02:00:00Z"},
      {of("wait: {until: \"${{ params.at }}\"}"), 4, 19, "not supported yet"},
      {of("wait: {for: 1h, timeout: 2h}"), 4, 21, "'timeout' is only for signals and approvals"},
      {of("wait: {signal: s, by: [operator]}"), 4, 23, "'by' is only for approvals"},
      {of("wait: {signal: \"a b\"}"), 4, 20, "the signal"},
      {of("wait: {approval: \"\"}"), 4, 22, "the question of the approval"},
      {of("wait: {approval: sure, by: []}"), 4, 32, "nobody could answer"},
      {of("wait: {approval: sure, by: [viewer]}"), 4, 33, "must be one of"},
      {of("wait: {aproval: sure}"), 4, 12, "unknown key 'aproval'", "did you mean 'approval'?"},
      {of("wait: {for: 1h}\n    run: [x]"), 5, 5, "'run' cannot stand beside 'wait'", "remove it"},
      {of("wait: {for: 1h}\n    retries: 3"), 5, 5, "'retries' cannot stand beside 'wait'"},
      {of("wait: {for: 1h}\n    map: {over: [a]}"), 5, 5, "'map' cannot stand beside 'wait'"},
      {of("wait: {for: 1h}\n    resources: {cpu: 1}"), 5, 5, "'resources' cannot stand beside"},
  };
  for (const Mistake& bad : all) expect_mistake(bad);
}

TEST(DagFinally, MistakesAreToldWithTheirPlace) {
  const auto of = [](std::string_view rest) {
    return fmt::format("name: d\ntasks:\n  a: {{run: [x]}}\n{}\n", rest);
  };
  const std::vector<Mistake> all{
      {of("finally: {}"), 4, 10, "'finally' has no tasks", "remove 'finally'"},
      {of("finally: [b]"), 4, 10, "must be a map"},
      {of("finally_timeout: 1h"), 4, 1, "without 'finally'", "add tasks to finally"},
      {of("finally:\n  b: {needs: a, run: [x]}"), 5, 14, "is in 'finally' and needs 'a'",
       "start when all others have ended"},
      {of("finally:\n  b: {run: [x], queue: \"a b\"}"), 5, 6, "queue name"},
      {"name: d\ntasks:\n  a: {needs: b, run: [x]}\nfinally:\n  b: {run: [x]}\n", 3, 14,
       "needs 'b', which is in 'finally' and runs after it", "move that task to 'tasks'"},
      {"name: d\ntasks:\n  a: {run: [x, \"${{ run.result }}\"]}\n", 3, 21,
       "run.result is known only when all tasks have ended", "move the task to 'finally'"},
      {"name: d\ntasks:\n  a: {run: [x, \"${{ tasks.b.outputs.n }}\"]}\nfinally:\n  b: {run: "
       "[x]}\n",
       3, 21, "is in 'finally' and runs after this task"},
      {"name: d\ntasks:\n  a: {run: [x, \"${{ run.reslt }}\"]}\n", 3, 21,
       "'run' has only run.id, run.dag, run.result, run.slot and run.slot_end",
       "did you mean 'run.result'?"},
  };
  for (const Mistake& bad : all) expect_mistake(bad);
}

}  // namespace
}  // namespace vortex::codec
