// Claims about every plan there is, tried on random DAGs and on random nonsense.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "model/plan.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::broken_law;
using testing::dag;
using testing::kMax;
using testing::kMin;
using testing::list;
using testing::node;
using testing::range;

// edges[i] are drawn numbers, each a need of node i on an earlier node: acyclic by construction.
using Edges = std::vector<std::vector<std::uint8_t>>;

DagSpec acyclic(const Edges& edges, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<NodeSpec> nodes{node("n0")};
  for (std::size_t i = 1; i < edges.size(); ++i) {
    NodeSpec n = node(fmt::format("n{}", i));
    for (const std::uint8_t drawn : edges[i]) n.needs.push_back(fmt::format("n{}", drawn % i));
    std::sort(n.needs.begin(), n.needs.end());
    n.needs.erase(std::unique(n.needs.begin(), n.needs.end()), n.needs.end());
    if (rng.chance(300)) n.map = range(-3, rng.between(-3, 10));
    if (rng.chance(100)) n.map = list({"a", "b"});
    nodes.push_back(std::move(n));
  }
  // Needs may stand before or after the nodes that need them.
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[rng.below(i)]);
  return dag(std::move(nodes));
}

RC_GTEST_PROP(PlanProperty, EveryDagCompilesToASoundPlan,
              (const Edges& edges, std::uint64_t seed)) {
  const auto plan = compile(acyclic(edges, seed), {});
  RC_ASSERT(plan.has_value());
  RC_ASSERT(broken_law(**plan) == "");
  for (std::uint32_t task = 0; task < (*plan)->tasks; ++task) {
    const std::uint32_t n = (*plan)->node_of_task(task);
    const std::uint32_t first = (*plan)->first_task(n);
    RC_ASSERT(task >= first && task - first < (*plan)->tasks_of(n));
  }
}

RC_GTEST_PROP(PlanProperty, OneEdgeBackMakesACycleThatIsNamed,
              (const Edges& edges, std::uint64_t seed)) {
  DagSpec spec = acyclic(edges, seed);
  const auto plan = compile(spec, {});
  RC_ASSERT(plan.has_value());
  const auto& nodes = (*plan)->nodes;
  const auto later =
      std::find_if(nodes.begin(), nodes.end(), [](const PlanNode& n) { return !n.needs.empty(); });
  if (later == nodes.end()) return;
  const std::uint32_t earlier = later->needs.front();
  spec.nodes[earlier].needs.push_back(spec.nodes[later->spec].name);
  const auto refusal = compile(spec, {});
  RC_ASSERT(!refusal.has_value());
  RC_ASSERT(refusal.error().kind == DagError::Kind::kCycle);
  RC_ASSERT(refusal.error().detail.ends_with(" -> " + refusal.error().node));
}

RC_GTEST_PROP(PlanProperty, TheSameSpecificationGivesTheSamePlan,
              (const Edges& edges, std::uint64_t seed)) {
  const auto one = compile(acyclic(edges, seed), {});
  const auto two = compile(acyclic(edges, seed), {});
  RC_ASSERT(one.has_value() && two.has_value());
  RC_ASSERT((*one)->digest == (*two)->digest);
  RC_ASSERT((*one)->tasks == (*two)->tasks);
}

// Draws values from where things break: the ends of the types, zero, and one beside them.
class Nonsense {
 public:
  explicit Nonsense(std::uint64_t seed) : rng_(seed) {}

  DagSpec spec() {
    DagSpec spec = dag({});
    if (odd()) spec.name = text();
    const std::uint64_t nodes = rng_.below(6);
    for (std::uint64_t i = 0; i < nodes; ++i) spec.nodes.push_back(node_spec(i));
    spec.barrier_levels = rng_.chance(500);
    if (odd()) spec.run_timeout = duration();
    return spec;
  }

  DagLimits limits() {
    DagLimits limits;
    if (rng_.chance(100)) limits.nodes_max = limit();
    if (rng_.chance(100)) limits.tasks_max = limit();
    if (rng_.chance(100)) limits.depth_max = limit();
    if (rng_.chance(100)) limits.needs_max = limit();
    return limits;
  }

 private:
  // Most fields stay as they are, so that some specifications get past the first checks.
  bool odd() { return rng_.chance(20); }

  std::int64_t number() {
    constexpr std::int64_t kEnds[] = {kMin, kMin + 1, -1, 0, 1, 2, 1000, kMax - 1, kMax};
    return rng_.chance(500) ? kEnds[rng_.below(std::size(kEnds))]
                            : static_cast<std::int64_t>(rng_.next());
  }

  std::uint32_t limit() {
    return rng_.chance(500) ? static_cast<std::uint32_t>(rng_.below(5))
                            : static_cast<std::uint32_t>(number());
  }

  Duration duration() { return {number()}; }

  std::string text() {
    if (rng_.chance(50)) return std::string(rng_.below(300'000), 'x');
    std::string text;
    for (std::uint64_t left = rng_.below(8); left > 0; --left)
      text += static_cast<char>(rng_.next());
    return text;
  }

  std::string name() { return odd() ? text() : std::string(kNames[rng_.below(std::size(kNames))]); }

  // Most often an earlier node, so that some graphs hold together.
  std::string need(std::uint64_t position) {
    return rng_.chance(800) && position > 0 ? kNames[rng_.below(position)] : name();
  }

  std::vector<std::string> texts() {
    std::vector<std::string> texts(rng_.below(4));
    for (auto& t : texts) t = text();
    return texts;
  }

  MapSpec map() {
    MapSpec map;
    if (rng_.chance(500)) {
      map.over = MapRange{.first = number(), .last = number(), .step = number()};
    } else {
      map.over = texts();
    }
    map.max_parallel = static_cast<std::uint32_t>(number());
    if (odd()) map.max_failures = static_cast<std::uint32_t>(number());
    return map;
  }

  RetryPolicy retry() {
    RetryPolicy retry;
    if (odd()) retry.max_retries = static_cast<std::uint16_t>(number());
    if (odd()) retry.backoff.kind = static_cast<BackoffKind>(rng_.below(256));
    if (odd()) retry.backoff.delay = duration();
    if (odd()) retry.backoff.max_delay = duration();
    if (odd()) retry.backoff.jitter_permille = static_cast<std::uint16_t>(number());
    if (odd()) retry.unless_exit = {static_cast<std::int32_t>(number())};
    return retry;
  }

  Requirements requirements() {
    Requirements r;
    if (odd()) r.queue = text();
    if (odd()) r.runtime = text();
    if (odd()) r.worker = WorkerId(text());
    if (odd()) r.user = text();
    while (rng_.chance(50)) r.labels.emplace_back(name(), text());
    if (odd()) r.resources.cpu_milli = number();
    if (odd()) r.resources.memory_bytes = number();
    while (rng_.chance(50)) r.resources.named.emplace_back(name(), number());
    return r;
  }

  NodeSpec node_spec(std::uint64_t position) {
    NodeSpec n = node(odd() ? name() : kNames[position]);
    while (rng_.chance(400)) n.needs.push_back(need(position));
    if (odd()) n.trigger = static_cast<TriggerRule>(rng_.below(256));
    if (odd()) n.retry = retry();
    n.requirements = requirements();
    if (odd()) n.priority = static_cast<std::int8_t>(number());
    if (odd()) n.execution_timeout = duration();
    if (odd()) n.scheduled_timeout = duration();
    if (odd()) n.stale_after = duration();
    if (odd()) n.map = map();
    if (odd())
      n.command = {.argv = texts(), .shell = texts(), .env = {{text(), text()}}, .workdir = text()};
    if (odd()) n.outputs = texts();
    if (odd()) n.condition = text();
    if (odd()) n.condition = "succeeded(" + name() + ")";
    return n;
  }

  static constexpr const char* kNames[] = {"alpha", "beta", "gamma", "delta", "epsilon", "alpah"};

  Rng rng_;
};

// What a refusal must be, whatever was refused: one line of plain characters, not a flood of them.
bool is_shown_well(const std::string& text) {
  return text.size() < 4'000 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

RC_GTEST_PROP(PlanProperty, NonsenseIsRefusedInWordsAndNeverCrashes, (std::uint64_t seed)) {
  Nonsense nonsense(seed);
  for (int i = 0; i < 50; ++i) {
    const auto plan = compile(nonsense.spec(), nonsense.limits());
    if (plan) {
      RC_ASSERT(broken_law(**plan) == "");
    } else {
      RC_ASSERT(!plan.error().detail.empty());
      RC_ASSERT(is_shown_well(plan.error().detail));
    }
  }
}

TEST(PlanProperty, NonsenseReachesEveryKindOfRefusalAndSomePlans) {
  std::vector<int> seen(static_cast<std::size_t>(DagError::Kind::kBadValue) + 1, 0);
  int plans = 0;
  Nonsense nonsense(7);
  for (int i = 0; i < 5'000; ++i) {
    const auto plan = compile(nonsense.spec(), nonsense.limits());
    if (plan) ++plans;
    if (!plan) ++seen[static_cast<std::size_t>(plan.error().kind)];
  }
  for (std::size_t kind = 0; kind < seen.size(); ++kind) EXPECT_GT(seen[kind], 0) << kind;
  EXPECT_GT(plans, 0);
}

}  // namespace
}  // namespace vortex
