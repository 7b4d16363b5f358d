// Which DAGs a DAG may run as sub-DAGs, and what it may give them.
#include "model/passing/children.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::dag;
using ::testing::HasSubstr;
using testing::node;

NodeSpec child(std::string name, std::string of) {
  NodeSpec spec = node(std::move(name));
  spec.command = {};
  spec.child.emplace().dag = std::move(of);
  return spec;
}

std::shared_ptr<const DagSpec> named(std::string name, std::vector<NodeSpec> nodes) {
  DagSpec spec = dag(std::move(nodes));
  spec.name = std::move(name);
  return std::make_shared<const DagSpec>(std::move(spec));
}

DagError error_of(DagSpec spec) {
  auto plan = compile(std::move(spec), {});
  EXPECT_FALSE(plan);
  return plan ? DagError{} : plan.error();
}

TEST(Children, EachDagIsCompiledOnceWithWhatIsBelowIt) {
  DagSpec spec = dag({child("a", "b"), child("c", "d")});
  spec.dags = {named("d", {node("x")}), named("b", {child("y", "d")}),
               named("unused", {node("z")})};
  const auto plan = compile(spec, {});
  ASSERT_TRUE(plan) << plan.error().detail;
  EXPECT_EQ((*plan)->spec.dags.size(), 2U);
  const DagPlan& b = *(*plan)->nodes[0].child->plan;
  EXPECT_EQ(b.spec.dags.size(), 1U);
  EXPECT_EQ(b.nodes[0].child->plan, (*plan)->nodes[1].child->plan);
}

TEST(Children, ACycleIsRefusedWithItsChain) {
  DagSpec spec = dag({node("first"), child("a", "b")});
  spec.dags = {named("b", {child("x", "c")}), named("c", {child("y", "b")})};
  const DagError error = error_of(spec);
  EXPECT_EQ(error.kind, DagError::Kind::kCycle);
  EXPECT_EQ(error.node, "a");
  EXPECT_THAT(error.detail, HasSubstr("b -> c -> b"));
  DagSpec self = dag({child("a", "dag")});
  self.name = "dag";
  EXPECT_EQ(error_of(self).kind, DagError::Kind::kCycle);
}

TEST(Children, TheyAreNestedOnlySoDeep) {
  const auto nested = [](std::size_t depth) {
    DagSpec spec = dag({child("a", "d1")});
    for (std::size_t i = 1; i < depth; ++i) {
      spec.dags.push_back(named(fmt::format("d{}", i), {child("x", fmt::format("d{}", i + 1))}));
    }
    spec.dags.push_back(named(fmt::format("d{}", depth), {node("x")}));
    return spec;
  };
  EXPECT_TRUE(compile(nested(kChildDepthMax), {}));
  const DagError error = error_of(nested(kChildDepthMax + 1));
  EXPECT_EQ(error.kind, DagError::Kind::kTooDeep);
  EXPECT_THAT(error.detail, HasSubstr("d8 -> d9"));
}

// 90 DAGs, each of which runs all that follow: as many ways as there are sets of them.
TEST(Children, ManyWaysToOneDagCostNoMoreThanOne) {
  DagSpec spec = dag({child("a", "d80")});
  for (int i = 0; i <= 80; ++i) {
    std::vector<NodeSpec> nodes{node("work")};
    for (int j = 0; j < i && j < 7; ++j) {
      nodes.push_back(child(fmt::format("x{}", j), fmt::format("d{}", j)));
    }
    spec.dags.push_back(named(fmt::format("d{}", i), std::move(nodes)));
  }
  EXPECT_TRUE(compile(spec, {}));
}

TEST(Children, WhatIsNotThereIsListedForWhoeverKnowsIt) {
  DagSpec spec = dag({child("a", "stored"), child("c", "b")});
  spec.dags = {named("b", {child("x", "other")})};
  const auto plan = compile(spec, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ((*plan)->base->missing, (std::vector<std::string>{"other", "stored"}));
}

TEST(Children, ParamsAreThoseThatTheDagDeclares) {
  auto below = dag({node("x")});
  below.name = "b";
  below.params = {{.name = "day"}, {.name = "n", .type = ParamType::kNumber, .fallback = "3"}};
  const auto with = [&](std::vector<std::pair<std::string, std::string>> params) {
    DagSpec spec = dag({child("a", "b")});
    spec.nodes[0].child->params = std::move(params);
    spec.dags = {std::make_shared<const DagSpec>(below)};
    return spec;
  };
  EXPECT_TRUE(compile(with({{"day", "\"x\""}}), {}));
  EXPECT_TRUE(compile(with({{"day", "\"${{ params.anything }}\""}, {"n", "4"}}), {}));
  EXPECT_THAT(error_of(with({})).detail, HasSubstr("param 'day' of sub-DAG 'b' is missing"));
  const DagError unknown = error_of(with({{"days", "\"x\""}}));
  EXPECT_EQ(unknown.help, "did you mean 'day'?");
  EXPECT_EQ(unknown.member, (std::vector<std::string>{"params", "days"}));
  EXPECT_THAT(error_of(with({{"day", "7"}})).detail, HasSubstr("must be a string, not a number"));
  EXPECT_THAT(error_of(with({{"day", "\"x\""}, {"n", "\"a-${{ run.id }}\""}})).detail,
              HasSubstr("must be a number, not a string"));
  const auto full = params_of(below, {{"day", {Value::Kind::kText, "a\"\n"}}});
  ASSERT_TRUE(full);
  EXPECT_EQ(*full, R"({"day":"a\"\n","n":3})");
}

TEST(Children, NothingAboutCommandsStandsBesideThem) {
  DagSpec spec = dag({child("a", "b")});
  spec.nodes[0].command.argv = {"x"};
  EXPECT_THAT(error_of(spec).detail, HasSubstr("cannot have run"));
  spec = dag({child("a", "./b.yaml")});
  EXPECT_THAT(error_of(spec).detail, HasSubstr("the controller reads no files"));
}

TEST(Children, OutputsAreThoseOfItsTasks) {
  DagSpec spec = dag({node("a")});
  spec.nodes[0].outputs = {"v"};
  spec.outputs = {{"rows", "${{ tasks.a.outputs.v }}"}};
  EXPECT_TRUE(compile(spec, {}));
  spec.outputs = {{"rows", "${{ tasks.b.outputs.v }}"}};
  EXPECT_THAT(error_of(spec).detail, HasSubstr("unknown task 'b'"));
  spec.outputs = {{"rows", "${{ task.attempt }}"}};
  EXPECT_THAT(error_of(spec).detail, HasSubstr("task.attempt"));
}

}  // namespace
}  // namespace vortex
