#include "model/expression.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace vortex {
namespace {

using Kind = Expression::Kind;

Template parsed(std::string_view text) {
  auto tmpl = parse_template(text);
  EXPECT_TRUE(tmpl.has_value()) << text << ": " << (tmpl ? "" : tmpl.error().message);
  return tmpl.value_or(Template{});
}

TEST(Expression, TextsAndExpressionsComeByTurns) {
  const Template t = parsed("a ${{ params.x }} b${{run.id}}");
  EXPECT_EQ(t.texts, (std::vector<std::string>{"a ", " b", ""}));
  ASSERT_EQ(t.expressions.size(), 2U);
  EXPECT_EQ(t.expressions[0].path.root, PathRoot::kParam);
  EXPECT_EQ(t.expressions[0].path.name, "x");
  EXPECT_EQ(t.expressions[0].path.offset, 6U);
  EXPECT_EQ(t.expressions[0].path.shown, "params.x");
  EXPECT_EQ(t.expressions[1].path.root, PathRoot::kRunId);
}

TEST(Expression, TwoDollarsKeepTheMarkAsItIs) {
  EXPECT_EQ(parsed("$${{ params.x }}").texts, std::vector<std::string>{"${{ params.x }}"});
  EXPECT_EQ(parsed("$$${{").texts, std::vector<std::string>{"$${{"});
  EXPECT_EQ(parsed("${{ 1 }}$${{").texts, (std::vector<std::string>{"", "${{"}));
  EXPECT_EQ(parsed("$ {{ ${ }} $$").texts, std::vector<std::string>{"$ {{ ${ }} $$"});
}

TEST(Expression, EveryRootHasItsPath) {
  struct Case {
    std::string_view text;
    PathRoot root;
    std::string_view name;
    std::size_t steps;
  };
  for (const Case& c : std::vector<Case>{
           {"${{params.a.b[0]}}", PathRoot::kParam, "a", 2},
           {"${{params[\"a.b\"]}}", PathRoot::kParam, "a.b", 0},
           {"${{map.file}}", PathRoot::kItem, "file", 0},
           {"${{map.file.name}}", PathRoot::kItem, "file", 1},
           {"${{map.index}}", PathRoot::kIndex, "", 0},
           {"${{matrix.os}}", PathRoot::kItem, "matrix", 1},
           {"${{tasks.list.outputs.files[3]}}", PathRoot::kOutputs, "list", 2},
           {"${{tasks['a.b'].outputs}}", PathRoot::kOutputs, "a.b", 0},
           {"${{run.id}}", PathRoot::kRunId, "", 0},
           {"${{run.dag}}", PathRoot::kDagName, "", 0},
           {"${{task.name}}", PathRoot::kTaskName, "", 0},
           {"${{task.attempt}}", PathRoot::kAttempt, "", 0},
           {"${{ run.slot }}", PathRoot::kRunSlot, "", 0},
           {"${{ run.slot_end }}", PathRoot::kRunSlotEnd, "", 0},
       }) {
    const Template t = parsed(c.text);
    ASSERT_EQ(t.expressions.size(), 1U) << c.text;
    const Path& path = t.expressions[0].path;
    EXPECT_EQ(path.root, c.root) << c.text;
    EXPECT_EQ(path.name, c.name) << c.text;
    EXPECT_EQ(path.steps.size(), c.steps) << c.text;
  }
}

TEST(Expression, LiteralsFunctionsAndDefaultsHaveTheirKind) {
  EXPECT_EQ(parsed(R"(${{ "a\"}}\n" }})").expressions[0].text, "a\"}}\n");
  EXPECT_EQ(parsed("${{ 'it' }}").expressions[0].kind, Kind::kText);
  EXPECT_EQ(parsed("${{ -1.5 }}").expressions[0].text, "-1.5");
  EXPECT_EQ(parsed("${{ true }}").expressions[0].kind, Kind::kBoolean);
  EXPECT_EQ(parsed("${{ null }}").expressions[0].kind, Kind::kNull);
  const Template join = parsed("${{ join(params.list ?? params.other, \", \") }}");
  ASSERT_EQ(join.expressions[0].kind, Kind::kJoin);
  ASSERT_EQ(join.expressions[0].parts.size(), 2U);
  EXPECT_EQ(join.expressions[0].parts[0].kind, Kind::kDefault);
  const auto paths = references(join);
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[1]->name, "other");
  EXPECT_EQ(parsed("${{ json( params.x ) }}").expressions[0].kind, Kind::kJson);
}

struct Bad {
  std::string text;
  std::size_t offset;
  std::string_view message;
  std::string_view help = "";
};

std::vector<Bad> bad_templates() {
  return {
      {"ab ${{ params.x", 3, "is not closed", "}}"},
      {"${{ }}", 4, "empty"},
      {"${{ params }}", 4, "params needs a name"},
      {"${{ parms.x }}", 4, "unknown name 'parms'", "did you mean 'params'?"},
      {"${{ dir }}", 4, "unknown name 'dir'", "paths start with"},
      {"${{ params. }}", 11, "a name is missing"},
      {"${{ params.x y }}", 13, "unexpected 'y'"},
      {"${{ params.x[ }}", 12, "only a number or a string"},
      {"${{ params.x[-1] }}", 12, "only a number or a string"},
      {"${{ params.x[0 }}", 12, "the [ is never closed"},
      {"${{ map }}", 4, "map needs a name"},
      {"${{ map.index.x }}", 13, "nothing can follow"},
      {"${{ run.it }}", 4, "'run' has only run.id, run.dag, run.result, run.slot and run.slot_end"},
      {"${{ task.nam }}", 4, "'task' has only", "did you mean 'task.name'?"},
      {"${{ run.id.x }}", 10, "nothing can follow"},
      {"${{ tasks.a }}", 4, "only the outputs"},
      {"${{ tasks.a.state }}", 4, "only the outputs"},
      {"${{ jso(params.x) }}", 4, "unknown function 'jso'", "did you mean 'json'?"},
      {"${{ env(\"HOME\") }}", 4, "unknown function 'env'", "available functions: json(x)"},
      {"${{ json(params.x }}", 18, "')' is missing"},
      {"${{ json() }}", 9, "unexpected ')'"},
      {"${{ join(params.x) }}", 17, "expects two values", "write join(list"},
      {"${{ \"abc }}", 4, "is never closed"},
      {R"(${{ "a\q" }})", 6, "unknown escape"},
      {"${{ 007 }}", 4, "not a number"},
      {"${{ 1.x }}", 4, "not a number"},
      {"${{ params.x ?? }}", 16, "empty here"},
      {"${{ params.x + 1 }}", 13, "unexpected '+'"},
      {"${{ 1 }}" + std::string(" ${{") + std::string(5'000, ' ') + "1 }}", 9, "more than"},
  };
}

TEST(Expression, MistakesAreToldWithTheirPlace) {
  for (const Bad& bad : bad_templates()) {
    const auto t = parse_template(bad.text);
    ASSERT_FALSE(t.has_value()) << bad.text;
    EXPECT_NE(t.error().message.find(bad.message), std::string::npos)
        << bad.text << ": " << t.error().message;
    EXPECT_NE(t.error().help.find(bad.help), std::string::npos)
        << bad.text << ": " << t.error().help;
    EXPECT_EQ(t.error().offset, bad.offset) << bad.text << ": " << t.error().message;
  }
}

TEST(Expression, EverythingIsBounded) {
  std::string many;
  for (std::size_t i = 0; i <= kExpressionsMax; ++i) many += "${{1}}";
  EXPECT_FALSE(parse_template(many).has_value());
  EXPECT_TRUE(parse_template(many.substr(6)).has_value());
  std::string deep = "1";
  for (std::size_t i = 0; i < kExpressionDepthMax - 1; ++i) deep = "json(" + deep + ")";
  EXPECT_TRUE(parse_template("${{" + deep + "}}").has_value());
  EXPECT_FALSE(parse_template("${{json(" + deep + ")}}").has_value());
  std::string steps = "params";
  for (std::size_t i = 0; i < 40; ++i) steps += ".a";
  EXPECT_FALSE(parse_template("${{" + steps + "}}").has_value());
}

RC_GTEST_PROP(Expression, NoTextIsEverTooMuch, (const std::string& text)) {
  const std::string inner = "x ${{" + text + "}} y";
  for (const std::string& one : {text, inner}) {
    const auto t = parse_template(one);
    if (t) {
      RC_ASSERT(t->texts.size() == t->expressions.size() + 1);
    } else {
      RC_ASSERT(!t.error().message.empty());
      RC_ASSERT(t.error().offset <= one.size());
    }
  }
}

// Texts of the pieces that expressions are made of come far into the parser.
RC_GTEST_PROP(Expression, NoSequenceOfItsWordsIsTooMuch, (const std::vector<std::uint8_t>& draws)) {
  constexpr std::string_view kWords[] = {"${{", "}}",    "params",  ".",    "a",     "[", "]", "0",
                                         "??",  "json(", "join(",   ")",    "\"s\"", ",", " ", "$",
                                         "map", "tasks", "outputs", "-1.5", "null"};
  std::string text = "${{";
  for (const std::uint8_t draw : draws) text += kWords[draw % std::size(kWords)];
  const auto t = parse_template(text);
  if (t) {
    for (const Path* path : references(*t)) RC_ASSERT(!path->shown.empty());
  } else {
    RC_ASSERT(t.error().offset <= text.size());
  }
}

}  // namespace
}  // namespace vortex
