#include "model/expression_check.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/plan.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::chain;
using testing::dag;
using testing::list;
using testing::mapped;
using testing::node;

NodeSpec runs(std::string name, std::vector<std::string> argv,
              std::vector<std::string> needs = {}) {
  NodeSpec spec = node(std::move(name), std::move(needs));
  spec.command.argv = std::move(argv);
  return spec;
}

// list -> middle -> last, and a task that nobody needs.
DagSpec sample(const std::string& expression) {
  NodeSpec first = runs("list", {"ls"});
  first.outputs = {"files", "total"};
  DagSpec spec =
      dag({first, node("middle", {"list"}), runs("last", {"echo", expression}, {"middle"}),
           node("apart"), mapped("many", list({"a"}))});
  spec.params = {{.name = "dir"}};
  return spec;
}

struct Refused {
  std::string_view expression;
  std::string_view detail;
  std::string_view help = "";
};

TEST(ExpressionCheck, MistakesAreFoundBeforeAnythingRuns) {
  for (const Refused& c : std::vector<Refused>{
           {"${{ params.dri }}", "unknown param 'dri'"},
           {"${{ params.dirr }}", "unknown param 'dirr'", "did you mean 'dir'?"},
           {"${{ tasks.lst.outputs.files }}", "unknown task 'lst'", "did you mean 'list'?"},
           {"${{ tasks.list.outputs.file }}", "declares no output 'file'", "did you mean 'files'?"},
           {"${{ tasks.apart.outputs.x }}", "task 'apart' is not one of its needs",
            "add 'apart' to the task's needs"},
           {"${{ tasks.last.outputs.x }}", "its own outputs"},
           {"${{ tasks.many.outputs.x }}", "task 'many' is not one of its needs"},
           {"${{ tasks.many.outputs }}", "'many' is a map; name the output"},
           {"${{ tasks.many.outputs[0] }}", "'many' is a map; name the output"},
           {"${{ map.item }}", "the task has no map"},
           {"${{ map.index }}", "the task has no map"},
           {"${{ matrix.os }}", "the task has no map"},
           {"${{ params }}", "params needs a name"},
       }) {
    const auto plan = compile(sample(std::string(c.expression)), {});
    ASSERT_FALSE(plan.has_value()) << c.expression;
    EXPECT_EQ(plan.error().kind, DagError::Kind::kBadValue);
    EXPECT_EQ(plan.error().node, "last");
    EXPECT_EQ(plan.error().member, (std::vector<std::string>{"run", "1"}));
    EXPECT_NE(plan.error().detail.find(c.detail), std::string::npos) << plan.error().detail;
    EXPECT_NE(plan.error().help.find(c.help), std::string::npos) << plan.error().help;
  }
}

TEST(ExpressionCheck, WhatIsNeededThroughOthersCanBeRead) {
  const auto plan = compile(
      sample("${{ tasks.list.outputs.files[0] }} ${{ tasks.middle.outputs }} ${{ params.dir }}"),
      {});
  ASSERT_TRUE(plan.has_value()) << plan.error().detail;
  EXPECT_EQ(upstream_outputs_needed(**plan, 2), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(upstream_outputs_needed(**plan, 1).empty());
}

TEST(ExpressionCheck, ADagWithoutDeclaredParamsTakesAny) {
  DagSpec spec = sample("${{ params.anything }}");
  spec.params.clear();
  EXPECT_TRUE(compile(spec, {}).has_value());
}

TEST(ExpressionCheck, AMapIsReadByItsOwnName) {
  NodeSpec many = mapped("many", list({"a"}));
  many.map->as = "file";
  many.command.argv = {"echo", "${{ map.file }} ${{ map.index }}"};
  EXPECT_TRUE(compile(dag({many}), {}).has_value());
  many.command.argv = {"echo", "${{ map.item }}"};
  const auto plan = compile(dag({many}), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().detail, "this map has no 'item'");
  EXPECT_EQ(plan.error().help, "the item is map.file, its number is map.index");
}

TEST(ExpressionCheck, AScriptForAShellMayHoldNone) {
  NodeSpec script = runs("a", {"rm ${{ params.dir }}", "${{ params.dir }}"});
  script.command.shell = {"bash", "-euc"};
  auto plan = compile(dag({script}), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().member, (std::vector<std::string>{"run", "0"}));
  EXPECT_NE(plan.error().detail.find("read as code"), std::string::npos);
  EXPECT_NE(plan.error().help.find("${{ params.dir }}"), std::string::npos);

  script.command.argv[0] = "rm \"$1\" $${{ }}";  // its arguments are no code
  EXPECT_TRUE(compile(dag({script}), {}).has_value());
  script.command.shell = {"bash", "${{ params.x }}"};
  plan = compile(dag({script}), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().member, (std::vector<std::string>{"shell", "1"}));
}

TEST(ExpressionCheck, EnvironmentAndWorkdirAreLookedAtToo) {
  NodeSpec one = runs("a", {"x"});
  one.command.env = {{"A", "fine"}, {"B/C", "${{ nonsense }}"}};
  auto plan = compile(dag({one}), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().member, (std::vector<std::string>{"env", "B/C"}));
  one.command.env.clear();
  one.command.workdir = "/srv/${{ task.attempt";
  plan = compile(dag({one}), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().member, std::vector<std::string>{"workdir"});
}

TEST(ExpressionCheck, FarNeedsAreFollowedWithinABound) {
  DagSpec spec = chain(2'000);
  for (std::size_t i = 0; i < 500; ++i) {
    spec.nodes.back().command.argv.push_back(fmt::format("${{{{ tasks.n{}.outputs.x }}}}", i));
  }
  const auto plan = compile(spec, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().detail;
  EXPECT_EQ((*plan)->nodes.back().inputs.size(), 500U);
  for (std::size_t i = 500; i < 1'500; ++i) {
    spec.nodes.back().command.argv.push_back(fmt::format("${{{{ tasks.n{}.outputs.x }}}}", i));
  }
  const auto far = compile(spec, {});
  ASSERT_FALSE(far.has_value());
  EXPECT_NE(far.error().detail.find("too far away"), std::string::npos) << far.error().detail;
}

TEST(ExpressionCheck, ANeedThatIsOnlyNearbyIsNotEnough) {
  // 70 targets: more than are followed at once.
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 70; ++i) nodes.push_back(node(fmt::format("t{}", i)));
  nodes.push_back(node("join"));
  for (int i = 0; i < 69; ++i) nodes.back().needs.push_back(fmt::format("t{}", i));
  nodes.push_back(runs("last", {"x"}, {"join"}));
  for (int i = 0; i < 70; ++i) {
    nodes.back().command.argv.push_back(fmt::format("${{{{ tasks.t{}.outputs }}}}", i));
  }
  const auto plan = compile(dag(nodes), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().detail.find("'t69'"), std::string::npos) << plan.error().detail;
  nodes[70].needs.push_back("t69");
  EXPECT_TRUE(compile(dag(nodes), {}).has_value());
}

}  // namespace
}  // namespace vortex
