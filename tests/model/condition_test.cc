#include "model/condition.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/plan.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::dag;
using testing::list;
using testing::mapped;
using testing::node;

// ---- Values ----

TEST(Values, AreComparedExactly) {
  const auto order = [](std::string_view a, std::string_view b) { return compare_numbers(a, b); };
  EXPECT_TRUE(order("1", "1.0") == 0);
  EXPECT_TRUE(order("100", "1e2") == 0);
  EXPECT_TRUE(order("0", "-0.000") == 0);
  EXPECT_TRUE(order("0.1", "1e-1") == 0);
  EXPECT_TRUE(order("9007199254740993", "9007199254740992") > 0);
  EXPECT_TRUE(order("-2", "-10") > 0);
  EXPECT_TRUE(order("-1", "0.0001") < 0);
  EXPECT_TRUE(order("12", "13.5") < 0);
  EXPECT_TRUE(order("1e999999999999999999", "2") > 0);
  EXPECT_TRUE(order("1e-99999999999999999999", "0") > 0);
}

std::vector<Value> pick(std::string_view json, const std::vector<Steps>& paths) {
  std::vector<const Steps*> wanted;
  for (const Steps& path : paths) wanted.push_back(&path);
  const auto values = pick_values(json, wanted);
  EXPECT_TRUE(values.has_value()) << values.error();
  return values.value_or(std::vector<Value>(paths.size()));
}

TEST(Values, ArePickedByPathAndKeepTheirTypes) {
  using Kind = Value::Kind;
  const auto values =
      pick(R"( {"a": {"b": [10, {"c": "x\n\u00e9\ud83d\ude00"}]}, "n": null, "z": 1} )",
           {{"a"}, {"a", "b", 0U}, {"a", "b", 1U, "c"}, {"a", "q"}, {"n"}});
  EXPECT_EQ(values[0], (Value{Kind::kObject, R"({"b": [10, {"c": "x\n\u00e9\ud83d\ude00"}]})"}));
  EXPECT_EQ(values[1], (Value{Kind::kNumber, "10"}));
  EXPECT_EQ(values[2], (Value{Kind::kText, "x\n\xc3\xa9\xf0\x9f\x98\x80"}));
  EXPECT_EQ(values[3].kind, Kind::kMissing);
  EXPECT_EQ(values[4].kind, Kind::kNull);
}

TEST(Values, WhatIsNotJsonIsRefused) {
  const Steps path{"a"};
  const std::vector<const Steps*> wanted{&path};
  for (const std::string_view json :
       {"", "{", "{\"a\":}", "{\"a\":01}", "{\"a\":1,}", "{\"a\":\"x}", "{\"a\":tru}", "{\"a\":1}x",
        "{a:1}", "{\"a\":\"\\x\"}", "{\"a\":\"\\ud800\"}", "{\"a\":1,\"a\":2}", "[1 2]",
        "{\"a\":-}", "{\"a\":1.}", "{\"a\":1e}"}) {
    EXPECT_FALSE(pick_values(json, wanted).has_value()) << json;
  }
  EXPECT_FALSE(pick_values(std::string(100'000, '['), wanted).has_value());
}

TEST(Values, ItemsOfListsAndKeysOfObjects) {
  const auto items = items_of({Value::Kind::kList, R"([1, "a", [2], {"b": 3}])"});
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[1], (Value{Value::Kind::kText, "a"}));
  EXPECT_EQ(items[3], (Value{Value::Kind::kObject, R"({"b": 3})"}));
  const auto keys = items_of({Value::Kind::kObject, R"({"b": {"x": 1}, "c": 2})"});
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[1].text, "c");
}

TEST(Values, ASetOfItemsAsksForWhatTheyStandFor) {
  using Kind = Value::Kind;
  const ItemSet list({Kind::kList, R"(["b", 1, "1", 2.50, [1, 2], null, true, -3, 0.0, "", "b"])"});
  for (const Value& item :
       {Value{Kind::kText, "b"}, Value{Kind::kNumber, "1.0"}, Value{Kind::kText, "1"},
        Value{Kind::kNumber, "25e-1"}, Value{Kind::kBoolean, "true"}, Value{Kind::kNumber, "-3.00"},
        Value{Kind::kNumber, "-0"}, Value{Kind::kText, ""}, Value{Kind::kNull, "null"},
        Value{Kind::kList, "[1, 2]"}}) {
    EXPECT_TRUE(list.contains(item)) << item.text;
  }
  for (const Value& other :
       {Value{Kind::kText, "a"}, Value{Kind::kText, "bb"}, Value{Kind::kNumber, "3"},
        Value{Kind::kNumber, "25"}, Value{Kind::kNumber, "2"}, Value{Kind::kText, "true"},
        Value{Kind::kBoolean, "false"}, Value{Kind::kList, "[1,2]"}, Value{Kind::kText, "z"}}) {
    EXPECT_FALSE(list.contains(other)) << other.text;
  }
  const ItemSet keys({Kind::kObject, R"({"b": {"x": 1}, "c": 2})"});
  EXPECT_TRUE(keys.contains({Kind::kText, "c"}));
  EXPECT_FALSE(keys.contains({Kind::kText, "x"}));
  EXPECT_FALSE(ItemSet({Kind::kList, "[]"}).contains({Kind::kNumber, "0"}));
}

// ---- Decisions ----

// A DAG of a, b, and c with the condition; a succeeded, b failed.
std::expected<bool, std::string> decided(const std::string& condition,
                                         const std::string& params = "{}",
                                         const std::string& outputs = "{}") {
  NodeSpec last = node("c", {"a", "b"});
  last.condition = condition;
  const auto plan = compile(dag({node("a"), node("b"), last}), {});
  if (!plan) return std::unexpected("refused: " + plan.error().detail);
  std::vector<ReadValue> values;
  for (const ValueRead& read : (*plan)->reads) {
    const std::vector<const Steps*> one{&read.steps};
    values.emplace_back(pick_values(read.node ? outputs : params, one).value().front());
  }
  const auto ended = [](std::uint32_t n) {
    return n == 0 ? TaskEnd::kSucceeded : TaskEnd::kFailed;
  };
  return decide((*plan)->nodes[2].condition->condition, {values, ended});
}

TEST(Conditions, AreTrueOrFalse) {
  const std::string params = R"({"s":"abc","n":3,"yes":true,"no":false,"l":["x",1,"y"],
                                 "o":{"k":null,"in":1},"z":null})";
  for (const char* yes : {
           "true",
           "params.yes",
           "not params.no",
           "params.n == 3.0 and params.s == 'abc'",
           "params.n != 4 or params.missing",
           "params.n > 2 and params.n >= 3 and params.n < 3.5 and params.n <= 3",
           "params.s < 'abd'",
           "params.s in ['xyz', \"abc\"]",
           "params.n not in [1, 2]",
           "'y' in params.l",
           "contains(params.l, 1)",
           "contains(params.s, 'bc')",
           "contains(params.o, 'k')",
           "starts_with(params.s, 'ab')",
           "succeeded(a) and failed(b) and not skipped(\"a\")",
           "(params.no or params.yes) and not (params.no and params.yes)",
           "params.missing ?? true",
           "(params.z ?? 5) == 5",
           "params.z == null and params.n != null",
           "params.o.in == 1",
           "${{ params.yes }}",
           "not not params.yes",
           "tasks.a.outputs.m.n[1] == 2",
       }) {
    const auto got = decided(yes, params, R"({"m":{"n":[1,2]}})");
    ASSERT_TRUE(got.has_value()) << yes << ": " << got.error();
    EXPECT_TRUE(*got) << yes;
    const auto other = decided("not (" + std::string(yes) + ")", params, R"({"m":{"n":[1,2]}})");
    if (std::string_view(yes).starts_with("$")) continue;
    ASSERT_TRUE(other.has_value()) << yes << ": " << other.error();
    EXPECT_FALSE(*other) << yes;
  }
}

TEST(Conditions, WithoutAValueThereIsAnErrorAndNoDecision) {
  struct Undecided {
    std::string condition;
    std::string error;
  };
  for (const Undecided& c : std::vector<Undecided>{
           {"params.x", "params.x has no value; add a default with ??"},
           {"params.n", "a number stands where true or false is expected"},
           {"params.n == 'a'", "a number is compared with a string"},
           {"params.n < params.s", "a number is compared with a string"},
           {"'a' in params.s", "'in' expects a list or an object on its right, not a string"},
           {"starts_with(params.n, 'a')", "starts_with() expects strings, not a number"},
           {"params.l == params.l", "a list cannot be compared as a whole"},
           {"succeeded(a) and params.x", "params.x has no value; add a default with ??"},
       }) {
    const auto got = decided(c.condition, R"({"n":3,"s":"s","l":[1]})");
    ASSERT_FALSE(got.has_value()) << c.condition;
    EXPECT_EQ(got.error(), c.error);
  }
}

// ---- What is refused before anything runs ----

struct RefusedCondition {
  std::string condition;
  std::size_t offset;
  std::string_view detail;
  std::string_view help = "";
};

TEST(Conditions, MistakesAreFoundBeforeAnythingRuns) {
  NodeSpec first = node("list");
  first.outputs = {"files"};
  for (const RefusedCondition& c : std::vector<RefusedCondition>{
           {"params.envv == 'x'", 0, "unknown param 'envv'", "did you mean 'env'?"},
           {"params.env == 3", 11, "a string is compared with a number", "without quotes"},
           {"params.n > true", 9, "a boolean has no order"},
           {"params.env", 0, "a string stands where true or false is expected", "compare it"},
           {"params.flag and params.n", 16, "a number stands where true or false"},
           {"params.env.x == 1", 0, "param 'env' is a string; nothing can follow it"},
           {"failed(lst)", 7, "unknown task 'lst'", "did you mean 'list'?"},
           {"failed(apart)", 7, "'apart' is not one of its needs", "add 'apart'"},
           {"failed(last)", 7, "a task cannot ask how it ended itself"},
           {"tasks.list.outputs.file == 1", 0, "declares no output 'file'", "'files'?"},
           {"tasks.many.outputs.x == 1", 0, "'many' is a map"},
           {"map.item == 'a'", 0, "map.item cannot be read in a condition", "use params"},
           {"task.attempt > 1", 0, "task.attempt cannot be read in a condition"},
           {"params.env = 'x'", 11, "unexpected '='", "write =="},
           {"params.flag && true", 12, "unexpected '&&'", "write and"},
           {"params.flag || true", 12, "unexpected '||'", "write or"},
           {"!params.flag", 0, "unexpected '!'", "write not"},
           {"params.list contains 'x'", 12, "'contains' is a function", "contains(list, value)"},
           {"suceeded(list)", 0, "unknown function 'suceeded'", "did you mean 'succeeded'?"},
           {"succeeded()", 10, "the name of a task is missing"},
           {"(params.flag", 12, "a ')' is missing"},
           {"params.flag and", 15, "the condition is incomplete here"},
           {"params.flag params.flag", 12, "unexpected 'p'", "and, or and not"},
           {"params.n in 3", 9, "'in' expects a list or an object"},
           {"(params.l ?? ['a']) == 1", 13, "a list cannot be a default"},
           {"   ", 3, "the condition is empty"},
       }) {
    NodeSpec last = node("last", {"list", "many"});
    last.condition = c.condition;
    DagSpec spec = dag({first, last, node("apart"), mapped("many", list({"a"}))});
    spec.params = {{.name = "env"},
                   {.name = "n", .type = ParamType::kNumber},
                   {.name = "flag", .type = ParamType::kBoolean},
                   {.name = "list", .type = ParamType::kList},
                   {.name = "l", .type = ParamType::kList}};
    const auto plan = compile(spec, {});
    ASSERT_FALSE(plan.has_value()) << c.condition;
    EXPECT_EQ(plan.error().node, "last");
    EXPECT_EQ(plan.error().member, (std::vector<std::string>{"if"})) << c.condition;
    EXPECT_EQ(plan.error().offset, c.offset) << c.condition;
    EXPECT_NE(plan.error().detail.find(c.detail), std::string::npos) << plan.error().detail;
    EXPECT_NE(plan.error().help.find(c.help), std::string::npos)
        << c.condition << ": " << plan.error().help;
  }
}

TEST(Conditions, AreBounded) {
  NodeSpec last = node("a");
  for (const std::string& condition :
       {std::string(17, '(') + "true" + std::string(17, ')'),
        "true or " + std::string(kExpressionBytesMax, ' ') + "true"}) {
    last.condition = condition;
    EXPECT_FALSE(compile(dag({last}), {}).has_value());
  }
}

TEST(Conditions, OfOneDagAreBoundedTogether) {
  NodeSpec first = node("a");
  first.condition = "contains(params.l, 1) and contains(params.l, 2)";
  NodeSpec second = node("b");
  second.condition = "contains(params.l, 3)";
  DagLimits limits;
  limits.condition_searches_max = 3;
  limits.condition_terms_max = 10;  // seven of the first, three of the second
  EXPECT_TRUE(compile(dag({first, second}), limits).has_value());
  const auto refused = [&] {
    const auto plan = compile(dag({first, second}), limits);
    return plan ? std::string() : plan.error().node + ": " + plan.error().detail;
  };
  limits.condition_searches_max = 2;
  EXPECT_EQ(refused(), "b: the conditions of this DAG have more than 2 calls of contains()");
  limits = {.condition_terms_max = 9};
  EXPECT_EQ(refused(), "b: the conditions of this DAG have more than 9 parts");
}

TEST(Conditions, WhatTheyReadIsNumberedOncePerDag) {
  NodeSpec b = node("b", {"a"});
  b.condition = "tasks.a.outputs.x == 1 or params.p == 2";
  NodeSpec c = node("c", {"b"});
  c.condition = "tasks.a.outputs.x == 2 and succeeded(a)";
  const auto plan = compile(dag({node("a"), b, c}), {}).value();
  EXPECT_EQ(plan->reads.size(), 2u);
  EXPECT_EQ(plan->param_reads, 1u);
  EXPECT_EQ(plan->nodes[0].reads, 1u);
  EXPECT_EQ(plan->nodes[0].first_read, 1u);
  EXPECT_EQ(plan->nodes[0].readers, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(plan->nodes[1].inputs.empty());
  EXPECT_TRUE(plan->is_read(0));
  EXPECT_FALSE(plan->is_read(1));
}

}  // namespace
}  // namespace vortex
