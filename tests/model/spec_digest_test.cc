#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/dag.h"
#include "model/plan.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::dag;
using testing::list;
using testing::node;
using testing::range;

// One of everything, so that each change below touches a field that is there.
DagSpec full() {
  NodeSpec n = node("b", {"a"});
  n.retry.emplace().unless_exit = {2};
  n.requirements.labels = {{"gpu", "yes"}};
  n.requirements.resources = {.cpu_milli = 1, .memory_bytes = 2, .named = {{"tape", 3}}};
  n.map = range(1, 9);
  n.command = {.argv = {"ls", "-l"}, .shell = {"sh"}, .env = {{"A", "1"}}, .workdir = "/"};
  n.outputs = {"files"};
  return dag({node("a"), node("c"), n});
}

using Change = std::function<void(DagSpec&, NodeSpec&)>;

std::map<std::string, Change> dag_changes() {
  return {
      {"name", [](auto& d, auto&) { d.name = "other"; }},
      {"barrier", [](auto& d, auto&) { d.barrier_levels = true; }},
      {"run_timeout", [](auto& d, auto&) { d.run_timeout = seconds(1); }},
      {"run_timeout zero", [](auto& d, auto&) { d.run_timeout = seconds(0); }},
      {"param", [](auto& d, auto&) { d.params = {{.name = "p"}}; }},
      {"param name", [](auto& d, auto&) { d.params = {{.name = "q"}}; }},
      {"param type", [](auto& d, auto&) { d.params = {{.name = "p", .type = ParamType::kList}}; }},
      {"param default", [](auto& d, auto&) { d.params = {{.name = "p", .fallback = "\"\""}}; }},
      {"param help", [](auto& d, auto&) { d.params = {{.name = "p", .help = "h"}}; }},
      {"params more", [](auto& d, auto&) { d.params = {{.name = "p"}, {.name = "q"}}; }},
      {"schedule", [](auto& d, auto&) { d.schedule.emplace().cron = "@daily"; }},
      {"schedule cron", [](auto& d, auto&) { d.schedule.emplace().cron = "@hourly"; }},
      {"schedule every", [](auto& d, auto&) { d.schedule.emplace().every = seconds(5); }},
      {"schedule jitter", [](auto& d, auto&) { d.schedule.emplace().jitter = seconds(5); }},
      {"schedule zone", [](auto& d, auto&) { d.schedule.emplace().timezone = "x"; }},
      {"schedule overlap", [](auto& d, auto&) { d.schedule.emplace().overlap = Overlap::kAllow; }},
      {"schedule window", [](auto& d, auto&) { d.schedule.emplace().catchup.window = seconds(1); }},
      {"schedule limit", [](auto& d, auto&) { d.schedule.emplace().catchup.limit = 2; }},
      {"schedule from", [](auto& d, auto&) { d.schedule.emplace().from = {.text = "a"}; }},
      {"schedule until", [](auto& d, auto&) { d.schedule.emplace().until = {.text = "a"}; }},
      {"schedule pause", [](auto& d, auto&) { d.schedule.emplace().pause_on_failure = true; }},
      {"output", [](auto& d, auto&) { d.outputs = {{"a", "b"}}; }},
      {"output text", [](auto& d, auto&) { d.outputs = {{"a", "c"}}; }},
      {"dags",
       [](auto& d, auto&) { d.dags = {std::make_shared<const DagSpec>(dag({node("x")}))}; }},
      {"dags other",
       [](auto& d, auto&) { d.dags = {std::make_shared<const DagSpec>(dag({node("y")}))}; }},
      {"child", [](auto&, auto& n) { n.child.emplace().dag = "c"; }},
      {"child dag", [](auto&, auto& n) { n.child.emplace().dag = "d"; }},
      {"child params", [](auto&, auto& n) { n.child = ChildSpec{"c", {{"a", "1"}}}; }},
      {"node more", [](auto& d, auto&) { d.nodes.push_back(node("d")); }},
      {"node less", [](auto& d, auto&) { d.nodes.erase(d.nodes.begin()); }},
      {"nodes swapped", [](auto& d, auto&) { std::swap(d.nodes[0], d.nodes[1]); }},
  };
}

std::map<std::string, Change> node_changes() {
  return {
      {"node name", [](auto&, auto& n) { n.name = "x"; }},
      {"needs more", [](auto&, auto& n) { n.needs = {"a", "c"}; }},
      {"needs in other order", [](auto&, auto& n) { n.needs = {"c", "a"}; }},
      {"needs none", [](auto&, auto& n) { n.needs.clear(); }},
      {"trigger", [](auto&, auto& n) { n.trigger = TriggerRule::kAllDone; }},
      {"priority", [](auto&, auto& n) { n.priority = -1; }},
      {"exclusive", [](auto&, auto& n) { n.exclusive = true; }},
      {"execution_timeout", [](auto&, auto& n) { n.execution_timeout = seconds(1); }},
      {"scheduled_timeout", [](auto&, auto& n) { n.scheduled_timeout = seconds(1); }},
      {"stale_after", [](auto&, auto& n) { n.stale_after = seconds(1); }},
      {"stale_counts", [](auto&, auto& n) { n.stale_counts.output = true; }},
      {"secrets", [](auto&, auto& n) { n.secrets = {{"A", "a", 0, false}}; }},
      {"secrets as files", [](auto&, auto& n) { n.secrets = {{"A", "a", 0, true}}; }},
      {"version of a secret", [](auto&, auto& n) { n.secrets = {{"A", "a", 2, false}}; }},
      {"stale_counts without progress",
       [](auto&, auto& n) { n.stale_counts = {.progress = false, .output = true}; }},
      {"argv", [](auto&, auto& n) { n.command.argv = {"ls-l"}; }},
      {"argv split", [](auto&, auto& n) { n.command.argv = {"ls", "-", "l"}; }},
      {"argv to shell", [](auto&, auto& n) { n.command.argv.swap(n.command.shell); }},
      {"env", [](auto&, auto& n) { n.command.env[0].second = "2"; }},
      {"env name", [](auto&, auto& n) { n.command.env[0].first = "B"; }},
      {"workdir", [](auto&, auto& n) { n.command.workdir = ""; }},
      {"outputs", [](auto&, auto& n) { n.outputs.clear(); }},
      {"condition", [](auto&, auto& n) { n.condition = "true"; }},
      {"another condition", [](auto&, auto& n) { n.condition = "false"; }},
      {"continue_on_error", [](auto&, auto& n) { n.continue_on_error = true; }},
      {"inputs", [](auto&, auto& n) { n.inputs = {"${{ tasks.c.outputs.x }}"}; }},
      {"map over an output",
       [](auto&, auto& n) { n.map.emplace().over = MapOver{"${{ tasks.c.outputs.x }}"}; }},
      {"map over a param",
       [](auto&, auto& n) { n.map.emplace().over = MapOver{"${{ params.x }}"}; }},
      {"finally", [](auto&, auto& n) { n.finally = true; }},
      {"limits", [](auto&, auto& n) { n.limits = {"api"}; }},
      {"other limits", [](auto&, auto& n) { n.limits = {"db"}; }},
      {"wait", [](auto&, auto& n) { n.wait.emplace().length = hours(1); }},
      {"another wait", [](auto&, auto& n) { n.wait.emplace().length = hours(2); }},
      {"wait for a signal", [](auto&, auto& n) { n.wait.emplace().kind = WaitKind::kSignal; }},
      {"timeout of a wait", [](auto&, auto& n) { n.wait.emplace().timeout = hours(1); }},
      {"finally_timeout", [](auto& d, auto&) { d.finally_timeout = hours(1); }},
      {"concurrency", [](auto& d, auto&) { d.concurrency.emplace(); }},
      {"limit of concurrency", [](auto& d, auto&) { d.concurrency.emplace().limit = 2; }},
      {"key of concurrency", [](auto& d, auto&) { d.concurrency.emplace().key = "k"; }},
      {"on_full", [](auto& d, auto&) { d.concurrency.emplace().on_full = OnFull::kSkip; }},
  };
}

std::map<std::string, Change> policy_changes() {
  return {
      {"retry unset", [](auto&, auto& n) { n.retry.reset(); }},
      {"max_retries", [](auto&, auto& n) { ++n.retry->max_retries; }},
      {"backoff", [](auto&, auto& n) { n.retry->backoff.kind = BackoffKind::kLinear; }},
      {"delay", [](auto&, auto& n) { n.retry->backoff.delay += micros(1); }},
      {"max_delay", [](auto&, auto& n) { n.retry->backoff.max_delay += micros(1); }},
      {"jitter", [](auto&, auto& n) { ++n.retry->backoff.jitter_permille; }},
      {"unless_exit", [](auto&, auto& n) { n.retry->unless_exit = {2, 2}; }},
      {"only_exit", [](auto&, auto& n) { n.retry->only_exit = {2}; }},
      {"retry on", [](auto&, auto& n) { n.retry->on = {RetryCause::kSignal}; }},
      {"queue", [](auto&, auto& n) { n.requirements.queue = "q"; }},
      {"label", [](auto&, auto& n) { n.requirements.labels[0].second = "no"; }},
      {"label name", [](auto&, auto& n) { n.requirements.labels[0].first = "cpu"; }},
      {"runtime", [](auto&, auto& n) { n.requirements.runtime = "w"; }},
      {"user", [](auto&, auto& n) { n.requirements.user = "w"; }},
      {"worker", [](auto&, auto& n) { n.requirements.worker = WorkerId("w"); }},
      {"cpu", [](auto&, auto& n) { ++n.requirements.resources.cpu_milli; }},
      {"memory", [](auto&, auto& n) { ++n.requirements.resources.memory_bytes; }},
      {"resource", [](auto&, auto& n) { ++n.requirements.resources.named[0].second; }},
      {"map unset", [](auto&, auto& n) { n.map.reset(); }},
      {"map list", [](auto&, auto& n) { n.map = list({"1", "9", "1"}); }},
      {"map first", [](auto&, auto& n) { n.map = range(2, 9); }},
      {"map last", [](auto&, auto& n) { n.map = range(1, 8); }},
      {"map step", [](auto&, auto& n) { n.map = range(1, 9, 2); }},
      {"map as", [](auto&, auto& n) { n.map->as = "file"; }},
      {"max_parallel", [](auto&, auto& n) { n.map->max_parallel = 1; }},
      {"max_failures", [](auto&, auto& n) { n.map->max_failures = 0; }},
      {"max_failures more", [](auto&, auto& n) { n.map->max_failures = 1; }},
  };
}

TEST(SpecDigest, IsTheSameForTheSameSpecification) {
  EXPECT_EQ(digest_of(full()), digest_of(full()));
}

// Digests are kept on disk: one that changed would make a stored DAG another one.
TEST(SpecDigest, StaysWhatItWasWhereNothingNewIsSaid) {
  EXPECT_EQ(digest_of(dag({node("a")})), 0x54b705db4a59d89fU);
  DagSpec spec = full();
  EXPECT_EQ(digest_of(spec), 0x09ee74a331b1d84aU);
  spec.nodes[2].map = list({"x", "y"});
  spec.run_timeout = seconds(1);
  EXPECT_EQ(digest_of(spec), 0x2f5888db2f5d8765U);
}

TEST(SpecDigest, NoTwoChangesOfAnyFieldGiveTheSameDigest) {
  std::map<std::uint64_t, std::string> seen{{digest_of(full()), "unchanged"}};
  for (const auto& changes : {dag_changes(), node_changes(), policy_changes()}) {
    for (const auto& [name, change] : changes) {
      DagSpec spec = full();
      change(spec, spec.nodes[2]);
      const auto [at, fresh] = seen.emplace(digest_of(spec), name);
      EXPECT_TRUE(fresh) << name << " hashes like " << at->second;
    }
  }
}

TEST(SpecDigest, APlanCarriesTheDigestOfItsOrderedSpecification) {
  DagSpec one = full();
  DagSpec two = full();
  one.nodes[2].requirements.labels = {{"gpu", "yes"}, {"zone", "b"}};
  two.nodes[2].requirements.labels = {{"zone", "b"}, {"gpu", "yes"}};
  const auto plan_one = compile(one, {});
  const auto plan_two = compile(two, {});
  ASSERT_TRUE(plan_one.has_value() && plan_two.has_value());
  EXPECT_EQ((*plan_one)->digest, (*plan_two)->digest);
  EXPECT_EQ((*plan_one)->digest, digest_of((*plan_one)->spec));
}

}  // namespace
}  // namespace vortex
