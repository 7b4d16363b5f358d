// Sub-DAGs in DAG files: what they say, and what is told of their mistakes.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "codec/dag_file.h"
#include "codec/dag_json.h"

namespace vortex::codec {
namespace {

const std::map<std::string, std::string> kFiles{
    {"./region.yaml",
     "name: region\nparams: {day: {}, n: {type: number, default: 1}}\n"
     "tasks: {fetch: {run: [x], outputs: [rows]}}\n"
     "outputs: {rows: \"${{ tasks.fetch.outputs.rows }}\"}\n"},
    {"./other/region.yaml", "name: region\ntasks: {fetch: {run: [y]}}\n"},
    {"./middle.yaml", "name: middle\ntasks: {a: {dag: ./region.yaml, params: {day: x}}}\n"},
};

std::expected<std::shared_ptr<const DagSpec>, std::string> of_file(const std::string& name) {
  const auto file = kFiles.find(name);
  if (file == kFiles.end()) return std::unexpected("there is no file " + name);
  const auto plan = check_dag_file(file->second, Syntax::kYaml, {}, of_file);
  if (!plan) return std::unexpected("it has errors");
  return std::shared_ptr<const DagSpec>((*plan)->base, &(*plan)->base->spec);
}

auto check(std::string_view yaml) { return check_dag_file(yaml, Syntax::kYaml, {}, of_file); }

struct ChildMistake {
  std::string yaml;
  std::uint32_t line;
  std::uint32_t column;
  std::string_view message;    // a part of it
  std::string_view help = "";  // a part of it
};

void expect_child_mistake(const ChildMistake& bad) {
  const auto plan = check(bad.yaml);
  ASSERT_FALSE(plan) << bad.yaml << "\nis accepted";
  std::string all;
  for (const DagComplaint& c : plan.error()) all += to_text(c.problem, "file", "");
  const Problem& p = plan.error().front().problem;
  const bool fits = p.line == bad.line && p.column == bad.column &&
                    p.message.find(bad.message) != p.message.npos &&
                    p.help.find(bad.help) != p.help.npos && plan.error().size() == 1;
  EXPECT_TRUE(fits) << bad.yaml << "\nwanted " << bad.line << ":" << bad.column << " "
                    << bad.message << " [" << bad.help << "], got\n"
                    << all;
}

TEST(DagChildren, FilesBecomePartOfTheOneSpecification) {
  const auto plan = check(
      "name: d\ndefaults: {retries: 2, env: {A: b}}\ntasks:\n"
      "  a: {dag: ./region.yaml, params: {day: \"${{ params.day }}\", n: 2.50}}\n"
      "  b: {dag: ./middle.yaml, needs: a, retries: 1, timeout: 5m, priority: 3}\n"
      "  c: {dag: stored, map: {over: [1, 2]}}\n"
      "  d: {needs: a, run: [x, \"${{ tasks.a.outputs.rows }}\"]}\n");
  ASSERT_TRUE(plan) << to_text(plan.error().front().problem, "file", "");
  const DagSpec& spec = (*plan)->spec;
  ASSERT_EQ(spec.dags.size(), 2U);
  EXPECT_EQ(spec.dags[0]->name, "middle");
  EXPECT_EQ(spec.dags[1]->name, "region");
  EXPECT_EQ(spec.nodes[0].child->dag, "region");
  EXPECT_EQ(spec.nodes[0].child->params[1].second, "2.50");
  EXPECT_FALSE(spec.nodes[0].retry.has_value());
  EXPECT_TRUE(spec.nodes[0].command.env.empty());
  EXPECT_EQ((*plan)->base->missing, (std::vector<std::string>{"stored"}));
  const auto again = read_dag(write_dag(spec));
  ASSERT_TRUE(again);
  EXPECT_EQ(digest_of(*again), digest_of(spec));
  EXPECT_EQ(write_dag(*again), write_dag(spec));
}

TEST(DagChildren, MistakesAreToldWithPlaceAndFix) {
  const std::string start = "name: d\ntasks:\n  a: ";
  for (const ChildMistake& bad : {
           ChildMistake{start + "{dag: ./nowhere.yaml}\n", 3, 12,
                        "there is no file ./nowhere.yaml"},
           ChildMistake{start + "{dag: region, run: [x]}\n", 3, 20,
                        "'run' cannot stand beside 'dag'", "two tasks"},
           ChildMistake{start + "{dag: region, env: {A: b}}\n", 3, 20, "'env' cannot stand beside",
                        "tasks of the sub-DAG"},
           ChildMistake{start + "{wait: {for: 1h}, dag: region}\n", 3, 24,
                        "'dag' cannot stand beside 'wait'"},
           ChildMistake{start + "{run: [x], params: {n: 1}}\n", 3, 17,
                        "'params' of a task needs 'dag'"},
           ChildMistake{start + "{dag: {name: x}}\n", 3, 12, "must be a string",
                        "dag: ./file.yaml"},
           ChildMistake{start + "{dag: ./region.yaml}\n", 3, 12, "param 'day' of sub-DAG 'region'",
                        "add it to 'params'"},
           ChildMistake{start + "{dag: ./region.yaml, params: {day: x, m: 1}}\n", 3, 47,
                        "has no param 'm'"},
           ChildMistake{start + "{dag: ./region.yaml, params: {day: 7}}\n", 3, 41,
                        "must be a string, not a number"},
           ChildMistake{start + "{dag: d}\n", 3, 12,
                        "the DAG would run itself as a sub-DAG: d -> d"},
           ChildMistake{start + "{dag: x, params: {n: \"v ${{ parms.n }}\"}}\n", 3, 34, "parms"},
           ChildMistake{start + "{dag: x, params: {n: [\"${{ params.n }}\"]}}\n", 3, 27,
                        "expressions inside a list"},
           ChildMistake{
               start + "{dag: ./region.yaml, params: {day: x}}\n  b: {dag: ./other/region.yaml}\n",
               4, 12, "two different DAGs are called 'region'"},
           ChildMistake{start + "{dag: ./region.yaml, params: {day: x}}\n"
                                "  b: {needs: a, run: [x, \"${{ tasks.a.outputs.rws }}\"]}\n",
                        4, 31, "sub-DAG 'region' does not declare it", "did you mean 'rows'?"},
           ChildMistake{
               "name: d\noutputs: {v: \"${{ tasks.b.outputs.v }}\"}\ntasks: {a: {run: [x]}}\n", 2,
               19, "unknown task 'b'"},
           ChildMistake{"name: d\noutputs: [v]\ntasks: {a: {run: [x]}}\n", 2, 10, "must be a map",
                        "write outputs:"},
       }) {
    expect_child_mistake(bad);
  }
}

TEST(DagChildren, AMistakeInACarriedDagNamesIt) {
  const auto plan = check_dag_file(
      R"({"name":"d","tasks":{"a":{"dag":"b"}},"dags":[{"name":"b","tasks":{"x":{"run":["y"],"needs":["z"]}}}]})",
      Syntax::kJson, {});
  ASSERT_FALSE(plan);
  const Problem& problem = plan.error().front().problem;
  EXPECT_NE(problem.message.find("sub-DAG 'b': task 'x'"), std::string::npos) << problem.message;
  EXPECT_EQ(problem.pointer, "/dags/0/tasks/x/needs");
}

}  // namespace
}  // namespace vortex::codec
