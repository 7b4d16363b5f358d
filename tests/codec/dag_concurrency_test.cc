// `concurrency` in DAG files: what it says, and the place of each mistake.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/dag_file.h"
#include "codec/dag_json.h"

namespace vortex::codec {
namespace {

struct WrongFile {
  std::string yaml;
  std::uint32_t line;
  std::uint32_t column;
  std::string_view message;    // a part of it
  std::string_view help = "";  // a part of it
};

void expect_wrong(const WrongFile& bad) {
  const auto plan = check_dag_file(bad.yaml, Syntax::kYaml, {});
  ASSERT_FALSE(plan) << bad.yaml;
  std::string all;
  for (const DagComplaint& c : plan.error()) {
    const Problem& p = c.problem;
    const bool same = p.line == bad.line && p.column == bad.column;
    if (same && p.message.find(bad.message) != p.message.npos &&
        p.help.find(bad.help) != p.help.npos) {
      return;
    }
    all += to_text(p, "file", "");
  }
  ADD_FAILURE() << bad.yaml << "\nis refused with\n" << all;
}

TEST(DagConcurrency, IsReadAndWrittenAsItIs) {
  const auto plan = check_dag_file(
      "name: d\nconcurrency: {key: \"${{ params.c }}\", limit: 3, on_full: replace_queued}\n"
      "tasks: {a: {run: [x]}}\n",
      Syntax::kYaml, {});
  ASSERT_TRUE(plan);
  const auto& concurrency = (*plan)->spec.concurrency;
  ASSERT_TRUE(concurrency);
  EXPECT_EQ(concurrency->key, "${{ params.c }}");
  EXPECT_EQ(concurrency->limit, 3U);
  EXPECT_EQ(concurrency->on_full, OnFull::kReplaceQueued);
  const auto again = read_dag(write_dag((*plan)->spec));
  ASSERT_TRUE(again);
  EXPECT_EQ(digest_of(*again), digest_of((*plan)->spec));
}

TEST(DagConcurrency, MistakesAreToldWithTheirPlace) {
  const auto of = [](std::string_view value) {
    return fmt::format(
        "name: d\nparams: {{customer: {{}}, list: {{type: list}}}}\nconcurrency: {}\n"
        "tasks: {{a: {{run: [x]}}}}\n",
        value);
  };
  const std::vector<WrongFile> all{
      {of("{limit: 0}"), 3, 22, "'limit' is 0, so nothing could ever run", "write 1 or more"},
      {of("{limit: 1.5}"), 3, 22, "must be a whole number"},
      {of("3"), 3, 14, "must be a map", "write concurrency: {limit: 3}"},
      {of("{on_full: drop}"), 3, 24, "must be one of"},
      {of("{kye: x}"), 3, 15, "unknown key 'kye'", "the keys are key, limit, on_full"},
      {of("{key: \"${{ params.custmer }}\"}"), 3, 25, "unknown param 'custmer'",
       "did you mean 'customer'?"},
      {of("{key: \"${{ params.list }}\"}"), 3, 25, "is a list or an object"},
      {of("{key: \"${{ params.customer.x }}\"}"), 3, 25, "has no parts"},
      {of("{key: \"${{ tasks.a.outputs.x }}\"}"), 3, 25, "is not known when a run is submitted",
       "made of params"},
      {of("{key: \"${{ json(params.customer) }}\"}"), 3, 21, "json() cannot be used in a key"},
  };
  for (const WrongFile& bad : all) expect_wrong(bad);
}

TEST(DagLimits, AreReadSortedAndComeInsteadOfTheDefaults) {
  const auto plan = check_dag_file(
      "name: d\ndefaults: {limits: [api]}\n"
      "tasks: {a: {run: [x]}, b: {run: [x], limits: [z, db]}, c: {run: [x], limits: []}}\n",
      Syntax::kYaml, {});
  ASSERT_TRUE(plan);
  const DagSpec& spec = (*plan)->spec;
  EXPECT_EQ(spec.nodes[0].limits, (std::vector<std::string>{"api"}));
  EXPECT_EQ(spec.nodes[1].limits, (std::vector<std::string>{"db", "z"}));
  EXPECT_TRUE(spec.nodes[2].limits.empty());
}

TEST(DagLimits, MistakesAreToldWithTheirPlace) {
  const auto of = [](std::string_view members) {
    return fmt::format("name: d\ntasks:\n  a: {{{}}}\n", members);
  };
  const std::vector<WrongFile> all{
      {of("run: [x], limits: api"), 3, 25, "must be a list", "write limits: [api]"},
      {of("run: [x], limits: [\"a b\"]"), 3, 6, "limit"},
      {of("run: [x], limits: [a, a]"), 3, 6, "limit"},
  };
  for (const WrongFile& bad : all) expect_wrong(bad);
  EXPECT_FALSE(check_dag_file(of("wait: {for: 1h}, limits: [a]"), Syntax::kYaml, {}));
}

}  // namespace
}  // namespace vortex::codec
