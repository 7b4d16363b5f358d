// Plans of runs that make maps at run time, and the items that they are made of.

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/plan.h"
#include "model/value.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::dag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::list;
using testing::mapped;
using testing::node;

NodeSpec over(NodeSpec spec, std::string expression) {
  spec.map.emplace().over = MapOver{std::move(expression)};
  return spec;
}

// list, a late map over its files, two plain items, a late map over a param, last.
PlanPtr sample() {
  return compile(dag({node("list"), over(node("m", {"list"}), "${{ tasks.list.outputs.files }}"),
                      mapped("two", list({"x", "y"})), over(node("p"), "${{ params.l }}"),
                      node("last", {"m", "p"})}),
                 {})
      .value();
}

MapItems items(std::vector<std::string> texts) {
  return std::make_shared<const std::vector<std::string>>(std::move(texts));
}

TEST(LateMaps, HaveNoTasksUntilTheyAreLaidOut) {
  const PlanPtr plan = sample();
  EXPECT_EQ(plan->tasks, 4u);
  EXPECT_EQ(plan->tasks_of(1), 0u);
  EXPECT_FALSE(plan->is_counted(1));
  EXPECT_TRUE(plan->is_counted(2));
  EXPECT_EQ(plan->node_of_task(1), 2u);
  EXPECT_EQ(plan->node_of_task(3), 4u);
  ASSERT_EQ(plan->lists.size(), 2u);
  EXPECT_EQ(plan->param_lists, 1u);
  EXPECT_TRUE(plan->is_read(0));
  EXPECT_THAT(plan->nodes[0].readers, ElementsAre(1));
}

TEST(LateMaps, AreLaidOutBehindAllThatIsThere) {
  const PlanPtr base = sample();
  const PlanPtr one = lay_out(*base, {.node = 3, .tasks = 0, .items = items({})});
  const PlanPtr plan = lay_out(*one, {.node = 1, .tasks = 2, .items = items({"a", "b"})});
  EXPECT_EQ(base->tasks, 4u);
  EXPECT_EQ(plan->tasks, 6u);
  EXPECT_EQ(plan->first_task(1), 4u);
  EXPECT_EQ(plan->node_of_task(3), 4u);
  EXPECT_EQ(plan->node_of_task(5), 1u);
  EXPECT_EQ(plan->map_item(5), "b");
  EXPECT_EQ(plan->position_of(5), 1u);
  EXPECT_EQ(plan->map_item(2), "y");
  EXPECT_TRUE(plan->is_counted(3));
  EXPECT_EQ(plan->tasks_of(3), 0u);
  EXPECT_EQ(plan->digest, base->digest);
  EXPECT_EQ(&plan->spec, &base->spec);
  EXPECT_EQ(unexpanded(plan)->tasks, 4u);
}

TEST(LateMaps, AreLaidOutTheSameFromTheirNumbers) {
  PlanPtr plan = lay_out(*sample(), {.node = 3, .tasks = 1, .failed = true});
  plan = lay_out(*plan, {.node = 1, .tasks = 2, .items = items({"a", "b"})});
  const LateCounts counts = late_counts(*plan);
  EXPECT_THAT(counts, ElementsAre(3, kLateFailed, 1, 2));
  EXPECT_EQ(late_tasks(counts), 3u);
  PlanPtr again = laid_out_again(plan, counts).value();
  EXPECT_EQ(late_counts(*again), counts);
  EXPECT_FALSE(again->has_items(1));
  again = with_items(*again, 1, items({"a", "b"}));
  EXPECT_EQ(again->map_item(6), "b");
}

TEST(LateMaps, NumbersThatFitNoPlanAreRefused) {
  const PlanPtr plan = sample();
  for (const LateCounts& wrong :
       {LateCounts{1}, LateCounts{0, 1}, LateCounts{9, 1}, LateCounts{1, 2, 1, 2},
        LateCounts{1, kTaskIndexMax}, LateCounts{1, kTaskIndexMax - 5, 3, kTaskIndexMax - 5}}) {
    EXPECT_FALSE(laid_out_again(plan, wrong).has_value());
  }
}

TEST(LateMaps, MistakesAreFoundBeforeAnythingRuns) {
  const auto fault = [](std::string expression) {
    DagSpec spec = dag({node("list"), node("apart"), mapped("two", list({"x"})),
                        over(node("m", {"list", "two"}), std::move(expression))});
    spec.nodes[0].outputs = {"files"};
    spec.params = {{.name = "n", .type = ParamType::kNumber},
                   {.name = "l", .type = ParamType::kList}};
    const auto plan = compile(std::move(spec), {});
    if (plan) return std::string();
    EXPECT_EQ(plan.error().member, (std::vector<std::string>{"map", "over"}));
    return plan.error().detail;
  };
  EXPECT_EQ(fault("${{ tasks.list.outputs.files }}"), "");
  EXPECT_EQ(fault("${{ params.l }}"), "");
  EXPECT_EQ(fault("${{ params.l[0].x }}"), "");
  EXPECT_EQ(fault("${{ params.n }}"), "param 'n' is a number; a map needs a list or an object");
  EXPECT_EQ(fault("${{ params.x }}"), "unknown param 'x'");
  EXPECT_THAT(fault("${{ tasks.list.outputs }}"), HasSubstr("over all outputs of task 'list'"));
  EXPECT_THAT(fault("${{ tasks.list.outputs.file }}"), HasSubstr("declares no output 'file'"));
  EXPECT_THAT(fault("${{ tasks.apart.outputs.x }}"), HasSubstr("'apart' is not one of its needs"));
  EXPECT_THAT(fault("${{ tasks.m.outputs.x }}"), HasSubstr("its own outputs"));
  EXPECT_THAT(fault("${{ tasks.two.outputs.x }}"), HasSubstr("'two' is a map"));
  EXPECT_THAT(fault("${{ map.item }}"), HasSubstr("a map cannot go over map.item"));
  EXPECT_THAT(fault("${{ params.l ?? params.l }}"), HasSubstr("a single param or output"));
  EXPECT_THAT(fault("a${{ params.l }}"), HasSubstr("a single param or output"));
  EXPECT_THAT(fault("$${{ params.l }}"), HasSubstr("a single param or output"));
}

TEST(LateMaps, OnlySoManyAreAllowed) {
  DagLimits limits;
  limits.late_maps_max = 1;
  const auto plan = compile(
      dag({over(node("a"), "${{ params.l }}"), over(node("b"), "${{ params.l }}")}), limits);
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().detail, HasSubstr("at most 1 are allowed"));
}

TEST(LateMaps, AMapCannotReadTheOutputsOfAnother) {
  NodeSpec second = mapped("second", list({"x"}));
  second.needs = {"two"};
  second.command.argv = {"echo", "${{ tasks.two.outputs.size }}"};
  const auto plan = compile(dag({mapped("two", list({"x"})), second}), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().detail,
              HasSubstr("each item of this map would read the outputs of all"));
}

std::expected<std::vector<std::string>, std::string> texts_of(std::string_view json,
                                                              std::size_t items_max = 100) {
  const Steps whole;
  const std::array<const Steps*, 1> only{&whole};
  const auto picked = pick_values(json, only, json.size());
  if (!picked) return std::unexpected(picked.error());
  return item_texts(picked->front(), items_max);
}

TEST(ItemTexts, AreStringsAsTheyAreAndEverythingElseAsCompactJson) {
  EXPECT_THAT(texts_of(R"([ "a \"b\"" , 1.50, -0 ,true,[ 1 , "x y" ],{"a" : {} } ])").value(),
              ElementsAre("a \"b\"", "1.50", "-0", "true", R"([1,"x y"])", R"({"a":{}})"));
  EXPECT_THAT(texts_of(R"({"b" : 1 , "a\n":[ null ]})").value(),
              ElementsAre(R"({"key":"b","value":1})", R"({"key":"a\n","value":[null]})"));
  EXPECT_TRUE(texts_of(" [ ] ").value().empty());
  EXPECT_TRUE(texts_of("{}").value().empty());
}

TEST(ItemTexts, MayBeLongerThanWhatConditionsRead) {
  const std::string item(3 * kValueBytesMax, 'x');
  EXPECT_THAT(texts_of("[\"" + item + "\"]").value(), ElementsAre(item));
}

TEST(ItemTexts, AreRefusedWithTheReason) {
  EXPECT_EQ(texts_of("7").error(), "is a number; a map needs a list or an object");
  EXPECT_EQ(texts_of("[1,null]").error(), "has null as item 1");
  EXPECT_EQ(texts_of("[1,2,3]", 2).error(), "has more than 2 items");
  EXPECT_EQ(texts_of("[1,2]", 2).value().size(), 2u);
}

}  // namespace
}  // namespace vortex
