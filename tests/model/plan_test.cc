#include "model/plan.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::broken_law;
using testing::chain;
using testing::dag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kMax;
using testing::kMin;
using testing::list;
using testing::mapped;
using testing::node;
using testing::range;
using Kind = DagError::Kind;

PlanPtr compiled(DagSpec spec, const DagLimits& limits = {}) {
  auto plan = compile(std::move(spec), limits);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().detail);
  if (!plan) return std::make_shared<DagPlan>();
  EXPECT_EQ(broken_law(**plan), "");
  return *plan;
}

DagError refused(DagSpec spec, const DagLimits& limits = {}) {
  auto plan = compile(std::move(spec), limits);
  EXPECT_FALSE(plan.has_value());
  return plan ? DagError{} : plan.error();
}

TEST(Plan, KeepsTheNodesInTheOrderOfTheSpecification) {
  const auto plan = compiled(dag({node("c", {"a", "b"}), node("b", {"a"}), node("a")}));
  ASSERT_EQ(plan->nodes.size(), 3U);
  EXPECT_EQ(plan->node_spec(0).name, "c");
  EXPECT_EQ(plan->node_spec(2).name, "a");
  EXPECT_THAT(plan->nodes[0].needs, ElementsAre(2, 1));
  EXPECT_THAT(plan->nodes[2].needed_by, ElementsAre(0, 1));
  EXPECT_THAT(plan->nodes[0].needed_by, IsEmpty());
}

TEST(Plan, M05_LevelIsTheLongestWayFromANodeWithoutNeeds) {
  const auto plan = compiled(
      dag({node("a"), node("b", {"a"}), node("c", {"b"}), node("d", {"a", "c"}), node("e")}));
  std::vector<std::uint32_t> levels;
  for (const PlanNode& n : plan->nodes) levels.push_back(n.level);
  EXPECT_THAT(levels, ElementsAre(0, 1, 2, 3, 0));
  EXPECT_EQ(plan->levels, 4U);
}

TEST(Plan, NumbersTasksNodeByNode) {
  const auto plan = compiled(
      dag({node("a"), mapped("b", range(10, 30, 10)), node("c"), mapped("d", list({"x"}))}));
  EXPECT_EQ(plan->tasks, 6U);
  EXPECT_EQ(plan->first_task(1), 1U);
  EXPECT_EQ(plan->tasks_of(1), 3U);
  EXPECT_EQ(plan->node_of_task(0), 0U);
  EXPECT_EQ(plan->node_of_task(1), 1U);
  EXPECT_EQ(plan->node_of_task(3), 1U);
  EXPECT_EQ(plan->node_of_task(4), 2U);
  EXPECT_EQ(plan->node_of_task(5), 3U);
}

TEST(Plan, GivesEachTaskOfAMapItsItem) {
  const auto plan =
      compiled(dag({node("a"), mapped("b", range(10, 30, 10)), mapped("c", list({"x", "y"}))}));
  EXPECT_EQ(plan->map_item(0), "");
  EXPECT_EQ(plan->map_item(1), "10");
  EXPECT_EQ(plan->map_item(3), "30");
  EXPECT_EQ(plan->map_item(4), "x");
  EXPECT_EQ(plan->map_item(5), "y");
}

TEST(Plan, ATaskIndexBeyondTheLastEndsTheProcess) {
  const auto plan = compiled(dag({node("a")}));
  EXPECT_DEATH((void)plan->node_of_task(1), "task_index < tasks");
}

TEST(Plan, BringsLabelsAndNamedResourcesIntoOrder) {
  NodeSpec spec = node("a");
  spec.requirements.labels = {{"zone", "b"}, {"gpu", "yes"}};
  spec.requirements.resources.named = {{"tape", 1}, {"license", 2}};
  const auto plan = compiled(dag({spec}));
  EXPECT_EQ(plan->node_spec(0).requirements.labels, (Labels{{"gpu", "yes"}, {"zone", "b"}}));
  EXPECT_EQ(plan->node_spec(0).requirements.resources.named,
            (NamedAmounts{{"license", 2}, {"tape", 1}}));
}

TEST(Plan, RefusesADagWithoutNodes) { EXPECT_EQ(refused(dag({})).kind, Kind::kEmpty); }

TEST(Plan, RefusesACycleNamingItsNodes) {
  const auto error =
      refused(dag({node("x"), node("c", {"b", "x"}), node("a", {"c"}), node("b", {"a"})}));
  EXPECT_EQ(error.kind, Kind::kCycle);
  EXPECT_EQ(error.node, "c");
  EXPECT_THAT(error.detail, HasSubstr("c -> a -> b -> c"));
}

TEST(Plan, ACycleIsToldWithoutTheNodesBehindIt) {
  const auto error =
      refused(dag({node("late", {"b"}), node("a", {"b"}), node("b", {"a", "root"}), node("root")}));
  EXPECT_EQ(error.kind, Kind::kCycle);
  EXPECT_THAT(error.detail, HasSubstr(": a -> b -> a"));
}

TEST(Plan, AChainOfAHundredThousandNodesCompiles) {
  const auto plan = compiled(chain(100'000), {.depth_max = 100'000});
  EXPECT_EQ(plan->levels, 100'000U);
}

TEST(Plan, AnEndlessCycleIsFoundAndToldInShort) {
  DagSpec spec = chain(100'000);
  spec.nodes[0].needs = {"n99999"};
  const auto error = refused(spec);
  EXPECT_EQ(error.kind, Kind::kCycle);
  EXPECT_THAT(error.detail, HasSubstr("n0 -> n1 -> n2"));
  EXPECT_THAT(error.detail, HasSubstr("99980 more ... -> n0"));
}

TEST(Plan, RefusesANodeThatNeedsItself) {
  const auto error = refused(dag({node("a", {"a"})}));
  EXPECT_EQ(error.kind, Kind::kSelfNeed);
  EXPECT_EQ(error.node, "a");
}

TEST(Plan, RefusesTheSameNeedTwice) {
  const auto error = refused(dag({node("a"), node("b", {"a"}), node("c", {"a", "b", "a"})}));
  EXPECT_EQ(error.kind, Kind::kDuplicateNeed);
  EXPECT_EQ(error.node, "c");
  EXPECT_THAT(error.detail, HasSubstr("'a'"));
}

TEST(Plan, RefusesAnUnknownNeedAndNamesANearOne) {
  const auto error = refused(dag({node("list"), node("resize", {"lst"})}));
  EXPECT_EQ(error.kind, Kind::kUnknownNeed);
  EXPECT_EQ(error.node, "resize");
  EXPECT_THAT(error.detail, HasSubstr("'lst'"));
  EXPECT_THAT(error.detail, HasSubstr("did you mean 'list'?"));
}

TEST(Plan, AnUnknownNeedUnlikeAllOthersGetsNoHint) {
  const auto error = refused(dag({node("list"), node("resize", {"upload"})}));
  EXPECT_EQ(error.kind, Kind::kUnknownNeed);
  EXPECT_THAT(error.detail, ::testing::Not(HasSubstr("did you mean")));
}

TEST(Plan, AHintIsNeverTheNodeItself) {
  const auto error = refused(dag({node("resize", {"resise"})}));
  EXPECT_THAT(error.detail, ::testing::Not(HasSubstr("did you mean")));
}

TEST(Plan, RefusesTwoNodesWithOneName) {
  const auto error = refused(dag({node("b"), node("a"), node("b")}));
  EXPECT_EQ(error.kind, Kind::kDuplicateName);
  EXPECT_EQ(error.node, "b");
  EXPECT_THAT(error.detail, HasSubstr("tasks 1 and 3"));
}

TEST(Plan, TakesNamesOfLettersDigitsAndThreeSigns) {
  for (const std::string& name :
       {std::string("a"), std::string("Z_9.x-y"), std::string("0"), std::string(100, 'n')}) {
    EXPECT_TRUE(compile(dag({node(name)}), {}).has_value()) << name;
  }
}

TEST(Plan, RefusesNamesThatWouldNotPrintOrSort) {
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string(".a"), std::string("_a"), std::string("a b"),
        std::string("a/b"), std::string("a\nb"), std::string("\xc3\xa4"), std::string("a\0b", 3),
        std::string(101, 'n')}) {
    EXPECT_EQ(refused(dag({node("first"), node(name)})).kind, Kind::kBadName) << name;
    DagSpec spec = dag({node("first")});
    spec.name = name;
    EXPECT_EQ(refused(spec).kind, Kind::kBadName) << name;
  }
}

TEST(Plan, AComplaintAboutANameIsAlwaysOneShortLine) {
  const auto error = refused(dag({node("first"), node("bad\n\x1b" + std::string(1'000'000, 'x'))}));
  EXPECT_EQ(error.node, "");
  EXPECT_THAT(error.detail, HasSubstr("node 2"));
  EXPECT_THAT(error.detail, HasSubstr("bad\\x0a\\x1bxxx"));
  EXPECT_LT(error.detail.size(), 200U);
}

TEST(Plan, RefusesMoreNodesThanTheLimit) {
  EXPECT_TRUE(compile(chain(3), {.nodes_max = 3}).has_value());
  const auto error = refused(chain(4), {.nodes_max = 3});
  EXPECT_EQ(error.kind, Kind::kTooManyNodes);
  EXPECT_THAT(error.detail, HasSubstr("4 tasks are too many; the limit is 3"));
}

TEST(Plan, RefusesMoreNeedsThanTheLimit) {
  EXPECT_TRUE(compile(chain(4), {.needs_max = 3}).has_value());
  EXPECT_EQ(refused(chain(5), {.needs_max = 3}).kind, Kind::kTooManyNeeds);
}

TEST(Plan, RefusesMoreLevelsThanTheLimit) {
  EXPECT_TRUE(compile(chain(5), {.depth_max = 5}).has_value());
  const auto error = refused(chain(6), {.depth_max = 5});
  EXPECT_EQ(error.kind, Kind::kTooDeep);
  EXPECT_EQ(error.node, "n5");
}

TEST(Plan, RefusesMoreTasksThanTheLimit) {
  const DagSpec spec = dag({node("a"), mapped("b", range(1, 9)), node("c")});
  EXPECT_EQ(compiled(spec, {.tasks_max = 11})->tasks, 11U);
  const auto error = refused(spec, {.tasks_max = 10});
  EXPECT_EQ(error.kind, Kind::kTooManyTasks);
  EXPECT_EQ(error.node, "c");
}

TEST(Plan, RangesOfAllNumbersAreTooManyTasksAndNotFew) {
  DagLimits widest;
  widest.tasks_max = std::numeric_limits<std::uint32_t>::max();
  for (const auto& map :
       {range(kMin, kMax), range(kMax, kMin, -1), range(kMin, kMax, 2), range(0, kMax)}) {
    EXPECT_EQ(refused(dag({node("a"), mapped("b", map)}), widest).kind, Kind::kTooManyTasks);
  }
  // Two nodes whose counts add up to 2^32 and would pass as 0.
  const auto half = range(1, std::int64_t{1} << 31);
  EXPECT_EQ(refused(dag({mapped("a", half), mapped("b", half)}), widest).kind, Kind::kTooManyTasks);
  EXPECT_EQ(compiled(dag({mapped("a", range(kMin, kMax, kMax))}))->map_item(1), "-1");
}

}  // namespace
}  // namespace vortex
