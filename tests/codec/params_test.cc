#include "codec/params.h"

#include <string>

#include <gtest/gtest.h>

#include "codec/dag_json.h"
#include "tests/codec/bad_documents.h"

namespace vortex::codec {
namespace {

using testing::BadDocument;

DagSpec declared() {
  const auto spec = read_dag(R"({"name": "d", "params": {
    "dir": {"default": "/srv", "help": "where"}, "count": {"type": "number"},
    "dry": {"type": "boolean", "default": false}, "names": {"type": "list", "default": []},
    "more": {"type": "object", "default": {"a": [1, 2.50]}}}, "tasks": {"a": {}}})");
  EXPECT_TRUE(spec.has_value()) << spec.error().front().message;
  return spec.value_or(DagSpec{});
}

TEST(Params, DefaultsAreFilledInInTheOrderOfTheDeclaration) {
  EXPECT_EQ(check_params(declared(), R"({"names": ["x"], "count": 1.50})"),
            R"({"dir":"/srv","count":1.50,"dry":false,"names":["x"],"more":{"a":[1,2.50]}})");
}

TEST(Params, ADagThatDeclaresNoneTakesAny) {
  EXPECT_EQ(check_params({}, R"({ "any": [1] })"), R"({"any":[1]})");
  EXPECT_EQ(check_params({}, ""), "{}");
}

TEST(Params, WhatDoesNotFitTheDeclarationIsAProblem) {
  const DagSpec spec = declared();
  for (const BadDocument& bad : std::vector<BadDocument>{
           {R"({"count": 1, "dirr": "x"})", "/dirr", 1, 14, "the DAG 'd' has no param 'dirr'",
            "did you mean 'dir'?"},
           {R"({"count": "1"})", "/count", 1, 11, "'count' is '1'; it must be a number"},
           {R"({"count": 1, "dir": 5})", "/dir", 1, 21, "it must be a string"},
           {R"({"count": 1, "dry": "no"})", "/dry", 1, 21, "it must be true or false"},
           {R"({"count": 1, "names": {}})", "/names", 1, 23, "it must be a list"},
           {R"({"count": 1, "more": null})", "/more", 1, 22, "it must be an object"},
           {R"({})", "", 1, 1, "the param 'count' is missing"},
           {"", "", 1, 1, "the param 'count' is missing"},
           {R"({"count": 1, "count": 2})", "/count", 1, 14, "given twice"},
           {R"([1])", "", 1, 1, "it must be an object"},
           {R"({"count": )", "", 1, 11, "ends too early"},
       }) {
    testing::expect_refused(bad, [&](const std::string& json) { return check_params(spec, json); });
  }
}

TEST(Params, ADefaultMustHaveTheTypeOfItsParam) {
  for (const BadDocument& bad : std::vector<BadDocument>{
           {R"({"name":"d","tasks":{"a":{}},"params":{"x":{"default":5}}})", "/params/x/default", 1,
            55, "it must be a string"},
           {R"({"name":"d","tasks":{"a":{}},"params":{"x":{"type":"lst"}}})", "/params/x/type", 1,
            52, "it must be one of string, number", "did you mean 'list'?"},
           {R"({"name":"d","tasks":{"a":{}},"params":{"x":"text"}})", "/params/x", 1, 44,
            "it must be an object", "\"default\""},
           {R"({"name":"d","tasks":{"a":{}},"params":{"x":{"def":5}}})", "/params/x/def", 1, 45,
            "unknown key 'def' in param 'x'"},
       }) {
    testing::expect_refused(bad, [](const std::string& json) { return read_dag(json); });
  }
}

TEST(Params, WordsOfTheCommandLineBecomeJson) {
  EXPECT_EQ(param_from_text(ParamType::kString, "a\"b"), R"("a\"b")");
  EXPECT_EQ(param_from_text(ParamType::kNumber, "1.50"), "1.50");
  EXPECT_EQ(param_from_text(ParamType::kBoolean, "true"), "true");
  EXPECT_EQ(param_from_text(ParamType::kList, "[1, 2]"), "[1,2]");
  EXPECT_EQ(param_from_text(ParamType::kNumber, "many").error(), "'many' is not a number");
  EXPECT_EQ(param_from_text(ParamType::kList, "a,b").error(), "'a,b' is not a list in JSON");
}

}  // namespace
}  // namespace vortex::codec
