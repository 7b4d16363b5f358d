#include "codec/render.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/check.h"
#include "model/plan.h"
#include "model/rows.h"

namespace vortex::codec {
namespace {

using Rendered = std::expected<std::string, std::string>;

constexpr std::string_view kParams =
    R"({"dir":"/srv","n":3,"ratio":1.50,"on":true,"none":null,"list":["a",2,{"k":"v"}],)"
    R"("deep":{"a":{"b":[10,20]}},"odd key":"o"})";
constexpr std::string_view kInputs = R"({"list":{"files":["x.jpg","y z.jpg"],"total":2}})";

Rendered rendered(std::string_view text, const MapItem* map = nullptr) {
  const auto tmpl = parse_template(text);
  if (!tmpl) return std::unexpected("syntax: " + tmpl.error().message);
  Values values({.params = kParams,
                 .inputs = kInputs,
                 .map = map,
                 .run_id = "r42",
                 .dag = "thumbs",
                 .task = "resize",
                 .attempt = 2});
  return render(*tmpl, values);
}

TEST(Render, EveryValueHasItsText) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"plain", "plain"},
      {"${{ params.dir }}/x", "/srv/x"},
      {"${{ params.n }}${{ params.ratio }}${{ params.on }}", "31.50true"},
      {"${{ params.list }}", R"(["a",2,{"k":"v"}])"},
      {"${{ params.list[0] }}", "a"},
      {"${{ params.list[2].k }}", "v"},
      {"${{ params.deep.a }}", R"({"b":[10,20]})"},
      {"${{ params.deep.a.b[1] }}", "20"},
      {"${{ params['odd key'] }}", "o"},
      {"${{ tasks.list.outputs.files[1] }}", "y z.jpg"},
      {"${{ tasks.list.outputs }}", R"({"files":["x.jpg","y z.jpg"],"total":2})"},
      {"${{ run.id }} ${{ run.dag }} ${{ task.name }} ${{ task.attempt }}", "r42 thumbs resize 2"},
      {"${{ params.missing ?? 'd' }}", "d"},
      {"${{ params.none ?? params.missing ?? 7 }}", "7"},
      {"${{ params.dir ?? 'd' }}", "/srv"},
      {"${{ params.dir.sub ?? 'flat' }}", "flat"},
      {"${{ tasks.gone.outputs.x ?? \"none\" }}", "none"},
      {"${{ join(tasks.list.outputs.files, ', ') }}", "x.jpg, y z.jpg"},
      {"${{ join(params.list, '') }}", R"(a2{"k":"v"})"},
      {"${{ json(params.dir) }}", "\"/srv\""},
      {"${{ json(params.none) }}", "null"},
      {"${{ json(params.list) }}", R"(["a",2,{"k":"v"}])"},
      {"$${{ params.dir }}", "${{ params.dir }}"},
  };
  for (const auto& [text, wanted] : cases) {
    const Rendered got = rendered(text);
    EXPECT_EQ(got.value_or(got ? "" : "error: " + got.error()), wanted) << text;
  }
}

TEST(Render, ItemsOfMapsAndMatricesAreReached) {
  const MapItem file{.index = 7, .item = "a.jpg", .as = "file"};
  EXPECT_EQ(rendered("${{ map.index }}:${{ map.file }}", &file), "7:a.jpg");
  const MapItem object{.index = 0, .item = R"({"os":"linux","v":[1,2]})", .as = "matrix"};
  EXPECT_EQ(rendered("${{ matrix.os }}/${{ matrix.v[1] }}/${{ map.matrix.os }}", &object),
            "linux/2/linux");
  EXPECT_EQ(rendered("${{ matrix }}", &object), object.item);
  EXPECT_EQ(rendered("${{ map.file.name ?? 'not JSON' }}", &file), "not JSON");
}

TEST(Render, WhatHasNoValueIsToldByName) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"${{ params.missing }}", "params.missing: the run has no such param"},
      {"${{ params.none }}", "null"},
      {"${{ params.deep.a.c }}", "params.deep.a.c: there is no 'c'"},
      {"${{ params.list[3] }}", "there is no item 3"},
      {"${{ params.n[0] }}", "there is no item 0"},
      {"${{ tasks.other.outputs.x }}", "task 'other' has no outputs"},
      {"${{ map.item }}", "not part of a map"},
      {"${{ map.index }}", "not part of a map"},
      {"${{ join(params.dir, ',') }}", "join expects a list"},
      {"${{ join(params.list, params.missing) }}", "params.missing"},
      {"${{ json(params.missing) }}", "params.missing"},
      {"${{ params.missing ?? params.gone }}", "params.gone"},
  };
  for (const auto& [text, wanted] : cases) {
    const Rendered got = rendered(text);
    ASSERT_FALSE(got.has_value()) << text << " is " << *got;
    EXPECT_NE(got.error().find(wanted), std::string::npos) << text << ": " << got.error();
  }
}

TEST(Render, AResultIsNeverLongerThanAnArgument) {
  const std::string half(kArgumentBytesMax / 2, 'x');
  const MapItem item{.index = 0, .item = half};
  EXPECT_TRUE(rendered("${{ map.item }}${{ map.item }}", &item).has_value());
  EXPECT_FALSE(rendered("${{ map.item }}${{ map.item }}xx", &item).has_value());
}

TEST(Render, TheSlotOfARunAndItsEndAreTimes) {
  const auto at = [](std::string_view text, Instant slot, Instant end) -> std::string {
    Values::Facts facts;
    facts.slot = slot;
    facts.slot_end = end;
    Values values(facts);
    const auto got = render(*parse_template(text), values);
    return got ? *got : "error: " + got.error();
  };
  const Instant slot{1'771'800'000'000'000};
  constexpr std::string_view kBoth = "${{ run.slot }}/${{ run.slot_end ?? 'open' }}";
  EXPECT_EQ(at(kBoth, slot, slot + hours(1)), "2026-02-22T22:40:00Z/2026-02-22T23:40:00Z");
  EXPECT_EQ(at(kBoth, slot, kNever), "2026-02-22T22:40:00Z/open");
  EXPECT_EQ(at("${{ run.slot ?? 'none' }}", kNever, kNever), "none");
  EXPECT_EQ(at("${{ run.slot }}", kNever, kNever),
            "error: run.slot: the run was not started for a slot of a schedule");
}

RC_GTEST_PROP(Render, NoValuesAreEverTooMuch,
              (const std::string& params, const std::string& item)) {
  const MapItem map{.index = 1, .item = item};
  const auto tmpl = parse_template(
      "${{ params.a.b ?? map.item.x ?? json(params.a) ?? join(params.a, ',') ?? 'last' }}");
  RC_ASSERT(tmpl.has_value());
  Values values({.params = params,
                 .inputs = params,
                 .map = &map,
                 .run_id = "r1",
                 .dag = "d",
                 .task = "t",
                 .attempt = 1});
  const auto got = render(*tmpl, values);
  RC_ASSERT(got.has_value() || !got.error().empty());
}

// ---- Whole commands ----

// One map over two files, which reads params and the outputs of the task before it.
struct Planned {
  DagSpec spec;
  std::string params{kParams};
  int outputs_read = 0;
  CommandResolver resolver;

  Planned() {
    spec.name = "thumbs";
    spec.nodes.resize(2);
    spec.nodes[0].name = "list";
    spec.nodes[0].command.argv = {"ls"};
    spec.nodes[1].name = "resize";
    spec.nodes[1].needs = {"list"};
    spec.nodes[1].map = MapSpec{.over = std::vector<std::string>{"x", "a b.jpg"},
                                .max_parallel = 0,
                                .max_failures = {},
                                .as = "file"};
    command() = {.argv = {"convert", "${{ map.file }}"},
                 .shell = {},
                 .env = {{"N", "${{ params.n }}"}, {"F", "${{ tasks.list.outputs.files[0] }}"}},
                 .workdir = "${{ params.dir }}/${{ run.id }}"};
  }
  CommandLine& command() { return spec.nodes[1].command; }

  std::expected<CommandPtr, std::string> resolve(std::uint32_t task = 2, std::uint32_t run = 42) {
    if (!plan) {
      const auto compiled = compile(spec, {});
      if (!compiled) return std::unexpected("not compiled: " + compiled.error().detail);
      plan = *compiled;
      request = std::make_shared<RunRequest>();
      request->params = params;
    }
    Assignment assignment;
    assignment.attempt = {.task = {.run = {run}, .index = task, .level = 1}, .epoch = {1}};
    assignment.number = 3;
    assignment.work = PlannedWork{.plan = plan, .node = task == 0 ? 0U : 1U, .request = request};
    return resolver.resolve(assignment, [this](std::uint32_t) -> std::optional<std::string> {
      ++outputs_read;
      return R"({"files":["x.jpg","y z.jpg"],"total":2})";
    });
  }
  PlanPtr plan;
  std::shared_ptr<RunRequest> request;
};

TEST(Resolve, EveryTextOfTheCommandIsReplaced) {
  Planned planned;
  const auto command = planned.resolve();
  ASSERT_TRUE(command.has_value()) << command.error();
  EXPECT_EQ((*command)->argv, (std::vector<std::string>{"convert", "a b.jpg"}));
  EXPECT_EQ((*command)->env[0].second, "3");
  EXPECT_EQ((*command)->env[1].second, "x.jpg");
  EXPECT_EQ((*command)->workdir, "/srv/r42");
}

TEST(Resolve, TasksOfANodeShareWhatWasReadAndRunsDoNot) {
  Planned planned;
  EXPECT_EQ((*planned.resolve(1))->argv[1], "x");
  EXPECT_EQ((*planned.resolve(2))->argv[1], "a b.jpg");
  EXPECT_EQ(planned.outputs_read, 1) << "the outputs of 'list' are read once for both";
  EXPECT_EQ((*planned.resolve(2, 43))->workdir, "/srv/r43");
  EXPECT_EQ(planned.outputs_read, 2) << "another run has outputs of its own";
}

TEST(Resolve, ACommandWithoutExpressionsStaysAsItIs) {
  Planned planned;
  const auto command = planned.resolve(0);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(*command, nullptr);
  EXPECT_FALSE(has_expressions(*planned.plan, 0));
  EXPECT_TRUE(has_expressions(*planned.plan, 1));
}

TEST(Resolve, AScriptIsLeftAloneAndItsArgumentsAreNot) {
  Planned planned;
  planned.command().shell = {"bash", "-euc"};
  planned.command().argv = {"echo $1 $${{ x }}", "${{ task.attempt }}"};
  const auto command = planned.resolve();
  ASSERT_TRUE(command.has_value()) << command.error();
  EXPECT_EQ((*command)->argv, (std::vector<std::string>{"echo $1 ${{ x }}", "3"}));
}

TEST(Resolve, WhatCannotBeResolvedSaysWhere) {
  Planned planned;
  planned.command().env[0].second = "${{ params.gone }}";
  const auto command = planned.resolve();
  ASSERT_FALSE(command.has_value());
  EXPECT_EQ(command.error(), "cannot resolve env.N: params.gone: the run has no such param");
}

TEST(Resolve, AValueThatNoProcessCanBeGivenIsRefused) {
  Planned planned;
  planned.params = R"({"n":1,"dir":"a\u0000b"})";
  const auto command = planned.resolve();
  ASSERT_FALSE(command.has_value());
  EXPECT_NE(command.error().find("zero byte"), std::string::npos) << command.error();
}

TEST(Reduction, IsTheListOfAllItemsInTheirOrder) {
  DagSpec spec;
  spec.name = "d";
  for (const char* name : {"resize", "sum"}) spec.nodes.emplace_back().name = name;
  spec.nodes[0].map.emplace().over = MapRange{1, 5, 1};
  spec.nodes[0].command.argv = {"x"};
  spec.nodes[1].needs = {"resize"};
  spec.nodes[1].command.argv = {"x", "${{ tasks.resize.outputs.size }}"};
  spec.nodes[1].inputs = {"${{ tasks.resize.outputs.name }}"};
  const auto plan = compile(spec, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().detail;
  Reduction some(**plan, 1, 0);
  EXPECT_TRUE(some.add(1, R"({"size":7,"name":"a","other":[1]})"));
  EXPECT_TRUE(some.add(2, R"({"size":[8,"x"]})"));
  EXPECT_EQ(some.take(5),
            R"({"name":[null,"a",null,null,null],"size":[null,7,[8,"x"],null,null]})");
  EXPECT_EQ(Reduction(**plan, 1, 0).take(0), R"({"name":[],"size":[]})");
  Reduction large(**plan, 1, 0);
  const std::string most = R"({"size":")" + std::string(Reduction::kBytesMax / 2, 'x') + "\"}";
  EXPECT_TRUE(large.add(0, most));
  EXPECT_FALSE(large.add(1, most));
}

TEST(Resolve, TheControllerGathersOnlyWhatIsRead) {
  DagSpec spec;
  spec.name = "d";
  for (const char* name : {"a", "b", "c"}) {
    spec.nodes.emplace_back().name = name;
    spec.nodes.back().command.argv = {"x"};
  }
  spec.nodes[2].needs = {"a", "b"};
  spec.nodes[2].command.argv = {"x", "${{ tasks.a.outputs.k }}${{ tasks.b.outputs.k ?? 1 }}"};
  const auto plan = compile(spec, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().detail;
  std::vector<std::uint32_t> asked;
  const auto outputs = [&](std::uint32_t node) -> std::optional<std::string> {
    asked.push_back(node);
    if (node == 0) return R"({"k":"v"})";
    return std::nullopt;
  };
  EXPECT_EQ(gather_inputs(**plan, 2, outputs), R"({"a":{"k":"v"}})");
  EXPECT_EQ(asked, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(gather_inputs(**plan, 0, outputs), "");
  EXPECT_EQ(asked.size(), 2U) << "a task that reads nothing asks nobody";
}

}  // namespace
}  // namespace vortex::codec
