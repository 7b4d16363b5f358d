// What DAG files can say.
#include "codec/dag_file.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "codec/dag_json.h"
#include "codec/yaml/yaml_document.h"
#include "model/dag.h"
#include "tests/codec/drawn.h"

namespace vortex::codec {
namespace {

std::string all_of(const Problems& problems) {
  std::string out;
  for (const Problem& p : problems) out += to_text(p, "file", "");
  return out;
}

DagSpec read(std::string_view yaml) {
  auto spec = read_dag_yaml(yaml);
  EXPECT_TRUE(spec.has_value()) << yaml << "\n" << (spec ? "" : all_of(spec.error()));
  return spec.value_or(DagSpec{});
}

TEST(DagFile, M02_WhatCountsAsASignOfLifeComesFromTheTaskOrTheDefaults) {
  const DagSpec dag = read(R"(vortex: 1
name: signs
defaults: {stale_counts: [progress, output]}
tasks:
  both: {run: [x]}
  one: {run: [x], stale_counts: [output]}
  usual: {run: [x], stale_counts: [progress]}
)");
  EXPECT_EQ(dag.nodes[0].stale_counts, (StaleCounts{.progress = true, .output = true}));
  EXPECT_EQ(dag.nodes[1].stale_counts, (StaleCounts{.progress = false, .output = true}));
  EXPECT_EQ(dag.nodes[2].stale_counts, StaleCounts{});
}

TEST(DagFile, V16_SecretsComeAsVariablesAndFilesAndDefaultsAreMerged) {
  const DagSpec dag = read(R"(
name: d
defaults: {secrets: {DB: db/password, files: {tls.key: tls/key}}}
tasks:
  all: {run: [x]}
  own: {run: [x], secrets: {DB: db/password@3, API: api.key, files: {tls.key: tls/other, ca: ca}}}
)");
  using Uses = std::vector<SecretUse>;
  EXPECT_EQ(dag.nodes[0].secrets,
            (Uses{{"DB", "db/password", 0, false}, {"tls.key", "tls/key", 0, true}}));
  EXPECT_EQ(dag.nodes[1].secrets, (Uses{{"DB", "db/password", 3, false},
                                        {"tls.key", "tls/other", 0, true},
                                        {"API", "api.key", 0, false},
                                        {"ca", "ca", 0, true}}));
}

TEST(DagFile, TheExampleOfTheManualMeansWhatItSays) {
  const DagSpec dag = read(R"(vortex: 1
name: thumbnails
params: {dir: {type: string, default: /srv/photos}}
defaults:
  retry: {max: 3, backoff: exponential, delay: 2s, max_delay: 1m, jitter: 0.2, unless_exit: [2]}
  timeout: 5m
tasks:
  list:
    run: |
      find "$DIR" -name '*.jpg' | jq -Rcs '{files: split("\n")[:-1]}' > "$VORTEX_OUTPUTS"
    shell: [bash, -euc]
    env: {DIR: "${{ params.dir }}"}
    outputs: [files]
  resize:
    needs: [list]
    map: {over: [a.jpg, b.jpg], as: file, max_parallel: 16, max_failures: 5}
    run: [convert, "${{ map.file }}", -resize, 256x256, "${{ map.file }}.thumb.png"]
    resources: {cpu: 1, memory: 512MiB}
  report: {needs: [resize], trigger_rule: all_done, run: [./report.sh]}
)");
  EXPECT_EQ(dag.name, "thumbnails");
  ASSERT_EQ(dag.params.size(), 1U);
  EXPECT_EQ(dag.params[0].fallback, "\"/srv/photos\"");
  ASSERT_EQ(dag.nodes.size(), 3U);
  EXPECT_EQ(dag.nodes[0].command.env[0].second, "${{ params.dir }}");
  EXPECT_EQ(dag.nodes[0].command.argv[0].back(), '\n');
  EXPECT_EQ(dag.nodes[1].map->as, "file");
  EXPECT_EQ(dag.nodes[1].requirements.resources.memory_bytes, 512 * 1'048'576);
  EXPECT_EQ(dag.nodes[2].trigger, TriggerRule::kAllDone);
  for (const NodeSpec& node : dag.nodes) {
    EXPECT_EQ(node.execution_timeout, minutes(5));
    ASSERT_TRUE(node.retry.has_value());
    EXPECT_EQ(node.retry->unless_exit, std::vector<std::int32_t>{2});
  }
}

TEST(DagFile, ATaskWinsOverTheDefaults) {
  const DagSpec dag = read(R"(
name: d
tasks:
  a: {run: [x]}
  b:
    run: [x]
    env: {B: own, C: own}
    labels: {zone: b}
    resources: {cpu: 2}
    retry: {max: 1}
    timeout: 1m
    queue: fast
defaults:
  env: {A: d, B: d}
  labels: {gpu: a, zone: a}
  resources: {cpu: 1, memory: 1GiB}
  retry: {max: 7, delay: 9s}
  timeout: 5m
  queue: slow
  priority: 3
  workdir: /srv
)");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  ASSERT_EQ(dag.nodes.size(), 2U);
  const NodeSpec& a = dag.nodes[0];
  const NodeSpec& b = dag.nodes[1];
  EXPECT_EQ(a.command.env, (Pairs{{"A", "d"}, {"B", "d"}}));
  EXPECT_EQ(b.command.env, (Pairs{{"A", "d"}, {"B", "own"}, {"C", "own"}}));
  EXPECT_EQ(b.requirements.labels, (Pairs{{"gpu", "a"}, {"zone", "b"}}));
  EXPECT_EQ(b.requirements.resources.cpu_milli, 2'000);
  EXPECT_EQ(b.requirements.resources.memory_bytes, 1'073'741'824);
  EXPECT_EQ(a.retry->backoff.delay, seconds(9));
  EXPECT_EQ(b.retry->max_retries, 1);
  EXPECT_EQ(b.retry->backoff.delay, seconds(2)) << "retry is taken as a whole";
  EXPECT_EQ(a.execution_timeout, minutes(5));
  EXPECT_EQ(b.execution_timeout, minutes(1));
  EXPECT_EQ(b.requirements.queue, "fast");
  EXPECT_EQ(b.priority, 3);
  EXPECT_EQ(b.command.workdir, "/srv");
}

TEST(DagFile, RetriesIsShortForAMaximumOfRetries) {
  const DagSpec dag = read(R"(
name: d
defaults: {retries: 5}
tasks:
  usual: {run: [x]}
  short: {run: [x], retries: 0}
  long: {run: [x], retry: {max: 7, delay: 9s}}
)");
  ASSERT_EQ(dag.nodes.size(), 3U);
  EXPECT_EQ(dag.nodes[0].retry->max_retries, 5);
  EXPECT_EQ(dag.nodes[0].retry->backoff.delay, RetryPolicy{}.backoff.delay);
  EXPECT_EQ(dag.nodes[1].retry->max_retries, 0);
  EXPECT_EQ(dag.nodes[2].retry->max_retries, 7);
  EXPECT_TRUE(write_dag(dag).contains(R"("short":{"run":["x"],"retry":{"max":0,)"))
      << write_dag(dag);
}

TEST(DagFile, ADefaultShellIsForScriptsOnly) {
  const DagSpec dag = read(R"(
name: d
defaults: {shell: [bash, -euc]}
tasks:
  script: {run: "echo hi | cat"}
  words: {run: [echo, hi]}
  own: {run: ["echo $1", x, y], shell: [sh, -c]}
)");
  EXPECT_EQ(dag.nodes[0].command.shell, (std::vector<std::string>{"bash", "-euc"}));
  EXPECT_TRUE(dag.nodes[1].command.shell.empty());
  EXPECT_EQ(dag.nodes[2].command.shell, (std::vector<std::string>{"sh", "-c"}));
  EXPECT_EQ(dag.nodes[2].command.argv.size(), 3U);
}

TEST(DagFile, AMatrixBecomesAMapOverAllCombinations) {
  const DagSpec dag = read(R"(
name: d
tasks:
  t: {matrix: {os: [linux, "b\"sd"], v: [1, 2.5, true]}, run: [echo, "${{ matrix.os }}"]}
)");
  ASSERT_TRUE(dag.nodes[0].map.has_value());
  EXPECT_EQ(dag.nodes[0].map->as, "matrix");
  EXPECT_EQ(std::get<std::vector<std::string>>(dag.nodes[0].map->over),
            (std::vector<std::string>{R"({"os":"linux","v":1})", R"({"os":"linux","v":2.5})",
                                      R"({"os":"linux","v":true})", R"({"os":"b\"sd","v":1})",
                                      R"({"os":"b\"sd","v":2.5})", R"({"os":"b\"sd","v":true})"}));
  EXPECT_TRUE(compile(dag, {}).has_value());
}

TEST(DagFile, ItemsOfAMapMayBeNumbersAsInAMatrix) {
  const DagSpec dag =
      read("name: d\ntasks: {t: {map: {over: [0.1, 0.01, 5, true, a]}, run: [x]}}\n");
  EXPECT_EQ(std::get<std::vector<std::string>>(dag.nodes[0].map->over),
            (std::vector<std::string>{"0.1", "0.01", "5", "true", "a"}));
}

TEST(DagFile, NeedsMayBeOneText) {
  const DagSpec dag = read("name: d\ntasks: {a: {run: [x]}, b: {run: [x], needs: a}}\n");
  EXPECT_EQ(dag.nodes[1].needs, std::vector<std::string>{"a"});
}

TEST(DagFile, AnchorsAliasesAndMergesAreWrittenOut) {
  const DagSpec dag = read(R"(
name: d
tasks:
  a: &base
    run: [x]
    env: &env {A: "1"}
    timeout: 5m
  b: {<<: *base, timeout: 1m}
  c:
    run: [y]
    env: {<<: *env, B: "2"}
  e: {<<: [{queue: q1}, {queue: q2, priority: 2}], run: [z]}
  f: *base
)");
  ASSERT_EQ(dag.nodes.size(), 5U);
  EXPECT_EQ(dag.nodes[1].command.argv, std::vector<std::string>{"x"});
  EXPECT_EQ(dag.nodes[1].execution_timeout, minutes(1));
  EXPECT_EQ(dag.nodes[2].command.env.size(), 2U);
  EXPECT_EQ(dag.nodes[3].requirements.queue, "q1") << "the first of a list wins";
  EXPECT_EQ(dag.nodes[3].priority, 2);
  EXPECT_EQ(dag.nodes[4].execution_timeout, minutes(5));
}

TEST(DagFile, ScalarsMeanWhatAllReadersAgreeOn) {
  const std::vector<std::pair<std::string_view, ScalarKind>> cases{
      {"", ScalarKind::kNull},           {"~", ScalarKind::kNull},
      {"null", ScalarKind::kNull},       {"true", ScalarKind::kBoolean},
      {"True", ScalarKind::kAmbiguous},  {"yes", ScalarKind::kAmbiguous},
      {"No", ScalarKind::kAmbiguous},    {"ON", ScalarKind::kAmbiguous},
      {"off", ScalarKind::kAmbiguous},   {"y", ScalarKind::kText},
      {"0", ScalarKind::kNumber},        {"-12", ScalarKind::kNumber},
      {"1.50", ScalarKind::kNumber},     {"1e3", ScalarKind::kNumber},
      {"0644", ScalarKind::kAmbiguous},  {"0x1F", ScalarKind::kAmbiguous},
      {"0o17", ScalarKind::kAmbiguous},  {"+5", ScalarKind::kAmbiguous},
      {".5", ScalarKind::kAmbiguous},    {"5.", ScalarKind::kAmbiguous},
      {"1_000", ScalarKind::kAmbiguous}, {".inf", ScalarKind::kAmbiguous},
      {"-.INF", ScalarKind::kAmbiguous}, {".nan", ScalarKind::kAmbiguous},
      {"1e999", ScalarKind::kAmbiguous}, {"10.0.0.1", ScalarKind::kText},
      {"90s", ScalarKind::kText},        {"512MiB", ScalarKind::kText},
      {"256x256", ScalarKind::kText},    {"-", ScalarKind::kText},
      {".", ScalarKind::kText},          {"..", ScalarKind::kText},
      {"-resize", ScalarKind::kText},    {"2024-01-01", ScalarKind::kText},
      {"12:30", ScalarKind::kText},      {"0x", ScalarKind::kText},
      {"1.2.3", ScalarKind::kText},      {"e3", ScalarKind::kText},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(scalar_kind(text), kind) << text;
}

TEST(DagFile, CommentsBomsAndWindowsLinesAreFine) {
  const DagSpec dag =
      read("\xEF\xBB\xBF# a comment\r\nname: d # here\r\ntasks:\r\n  a:\r\n    run: [x]\r\n");
  EXPECT_EQ(dag.name, "d");
  EXPECT_EQ(dag.nodes[0].command.argv, std::vector<std::string>{"x"});
}

TEST(DagFile, CanonicalJsonIsReadAsJson) {
  EXPECT_EQ(syntax_of("a/dag.json"), Syntax::kJson);
  EXPECT_EQ(syntax_of("a/dag.yaml"), Syntax::kYaml);
  EXPECT_EQ(syntax_of("-"), Syntax::kYaml);
  EXPECT_TRUE(
      check_dag_file(R"({"name": "d", "tasks": {"a": {}}})", Syntax::kJson, {}).has_value());
  const auto bad = check_dag_file("{\"name\": \"d\",\n \"tasks\": {\"a\": {\"needs\": \"b\"}}}",
                                  Syntax::kJson, {});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error()[0].problem.line, 2U);
  EXPECT_EQ(bad.error()[0].problem.column, 27U);
}

TEST(DagFile, PlacesOfPointersAreFoundAgain) {
  constexpr std::string_view kYaml = R"(name: d
defaults:
  env: {A: "${{ params.x }}"}
tasks:
  a:
    run: [x]
)";
  EXPECT_EQ(place_in_file(kYaml, Syntax::kYaml, "/tasks/a/run/0"), (Position{6, 11}));
  EXPECT_EQ(place_in_file(kYaml, Syntax::kYaml, "/tasks/a/env/A"), (Position{3, 12}));
  EXPECT_EQ(place_in_file(kYaml, Syntax::kYaml, "/tasks/a/needs"), (Position{6, 5}));
  EXPECT_EQ(place_in_file(kYaml, Syntax::kYaml, "/timeout"), (Position{1, 1}));
  EXPECT_EQ(place_in_file("a: [", Syntax::kYaml, "/a"), (Position{0, 0}));
}

TEST(DagFile, AProblemIsShownInThreeLines) {
  const Problem problem{.pointer = "/tasks/resize/retires",
                        .message = "unknown key 'retires' in task 'resize'",
                        .help = "did you mean 'retries'?",
                        .line = 12,
                        .column = 5};
  EXPECT_EQ(to_text(problem, "thumbs.yaml", "VX-DAG-014"),
            "error[VX-DAG-014]: unknown key 'retires' in task 'resize'\n"
            "  --> thumbs.yaml:12:5\n"
            "   = help: did you mean 'retries'?\n");
  EXPECT_EQ(to_text({.pointer = {}, .message = "m", .help = {}}, "f", ""), "error: m\n  --> f\n");
}

// JSON is YAML, so what is written for the wire can be read as a file too, and means the same.
RC_GTEST_PROP(DagFile, ACanonicalDagReadAsYamlIsTheSame, (std::uint64_t seed)) {
  Rng rng(seed);
  DagSpec spec = testing::drawn_dag(rng);
  for (NodeSpec& node : spec.nodes) {
    if (node.command.argv.empty() && !node.wait && !node.child) node.command.argv = {"true"};
  }
  const std::string written = write_dag(spec);
  const auto read = read_dag_yaml(written);
  if (!read) RC_FAIL(all_of(read.error()) + written);
  RC_ASSERT(digest_of(*read) == digest_of(spec));
  RC_ASSERT(write_dag(*read) == written);
}

RC_GTEST_PROP(DagFile, NoBytesAreEverTooMuch, (const std::string& bytes)) {
  for (const std::string& text : {bytes, "name: " + bytes + "\ntasks:\n  a: {run: [x]}\n",
                                  "name: d\ntasks:\n  a:\n    run: [" + bytes + "]\n"}) {
    const auto plan = check_dag_file(text, Syntax::kYaml, {});
    if (plan) continue;
    RC_ASSERT(!plan.error().empty() && plan.error().size() <= kProblemsMax);
    for (const DagComplaint& c : plan.error()) RC_ASSERT(c.problem.line >= 1U);
  }
}

}  // namespace
}  // namespace vortex::codec
