#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// Its outputs are read as those of a task that a worker ran.
bool is_read_by_others(const DagSpec& dag, const NodeSpec& node) {
  const std::string path = "tasks." + node.name + ".outputs";
  return std::ranges::any_of(dag.nodes, [&](const NodeSpec& other) {
    const bool late = other.map && is_late(*other.map);
    return other.condition.contains(path) ||
           (late && std::get<MapOver>(other.map->over).text.contains(path));
  });
}

std::uint32_t items_of(const NodeSpec& node) {
  if (!node.map) return 1;
  if (is_late(*node.map)) return 60;
  return static_cast<std::uint32_t>(count_items(*node.map));
}

// How many runs of it one task of the node may start.
std::uint32_t tries_of(const Setup& setup, const NodeSpec& node) {
  const auto& retry = node.retry ? *node.retry : setup.timings.policy.retry;
  return 2 * (std::uint32_t{retry.max_retries} + 1) + 2;
}

// Nothing of what it had of a command is left.
void turn_into_child(NodeSpec& node, std::string dag) {
  NodeSpec child;
  child.name = node.name;
  child.needs = node.needs;
  child.trigger = node.trigger;
  child.condition = node.condition;
  child.continue_on_error = node.continue_on_error;
  child.finally = node.finally;
  child.map = node.map;
  child.retry = node.retry;
  child.priority = node.priority;
  child.child.emplace().dag = std::move(dag);
  node = std::move(child);
}

// A plain one of its needs, whose output is passed on; it may have none when the time comes.
std::string value_for(const RunDraft& draft, const NodeSpec& node, Rng& rng) {
  for (const NodeSpec& from : draft.dag.nodes) {
    const bool needed = std::ranges::find(node.needs, from.name) != node.needs.end();
    const bool has_v = from.outputs.empty() || from.outputs.front() == "v";
    if (!needed || from.map || from.wait || from.child || !has_v || rng.chance(300)) continue;
    return fmt::format("\"${{{{ tasks.{}.outputs.v{} }}}}\"", from.name,
                       rng.chance(600) ? " ?? 3" : "");
  }
  return rng.chance(500) ? "\"${{ task.attempt }}\"" : "2";
}

class Children {
 public:
  Children(Setup& setup, Rng& rng) : setup_(setup), rng_(rng) {}

  // Of a draft by its place: growth moves them.
  void draw_for(std::size_t at, std::uint32_t generation) {
    for (std::size_t n = 0; n < setup_.drafts[at].dag.nodes.size(); ++n) {
      const DagSpec& dag = setup_.drafts[at].dag;
      const NodeSpec& node = dag.nodes[n];
      const bool fits =
          !node.wait && !node.child && !is_read_by_others(dag, node) && items_of(node) <= 12;
      if (!fits || !rng_.chance(node.map ? 300 : 250)) continue;
      make_child(at, n, generation);
    }
  }

 private:
  void make_child(std::size_t at, std::size_t n, std::uint32_t generation) {
    const std::size_t child = setup_.drafts.size();
    const std::uint32_t most = setup_.drafts[at].runs * items_of(setup_.drafts[at].dag.nodes[n]) *
                               tries_of(setup_, setup_.drafts[at].dag.nodes[n]);
    setup_.drafts.push_back(draw_draft(child, most));
    if (generation < 2 && rng_.chance(300)) draw_for(child, generation + 1);
    RunDraft& draft = setup_.drafts[at];
    NodeSpec& node = draft.dag.nodes[n];
    turn_into_child(node, setup_.drafts[child].dag.name);
    const Duration lease = setup_.timings.policy.worker_lease;
    if (rng_.chance(200)) node.execution_timeout = share(rng_, lease, 300, 3000);
    if (node.map && rng_.chance(300)) node.map->max_parallel = 2;
    if (!setup_.drafts[child].dag.params.empty()) {
      node.child->params = {{"n", value_for(draft, node, rng_)}};
    }
    carry(draft.dag, setup_.drafts[child].dag);
  }

  static void carry(DagSpec& dag, const DagSpec& child) {
    auto own = std::make_shared<DagSpec>(child);
    own->dags.clear();
    dag.dags.push_back(std::move(own));
    dag.dags.insert(dag.dags.end(), child.dags.begin(), child.dags.end());
  }

  RunDraft draw_draft(std::size_t at, std::uint32_t runs) {
    const Duration lease = setup_.timings.policy.worker_lease;
    RunDraft draft;
    draft.child = true;
    draft.runs = runs;
    draft.dag.name = fmt::format("s{}", at);
    const std::uint64_t count = 1 + rng_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      NodeSpec node;
      node.name = fmt::format("c{}", i);
      node.command.argv = {"work"};
      if (i > 0 && rng_.chance(600)) node.needs = {fmt::format("c{}", i - 1)};
      if (rng_.chance(200)) node.priority = static_cast<std::int8_t>(rng_.between(-3, 3));
      if (rng_.chance(150)) node.map.emplace().over = MapRange{1, rng_.between(1, 3), 1};
      NodeTraits traits;
      traits.runs_max = share(rng_, lease, 5, 800);
      traits.outputs = rng_.chance(700);
      if (setup_.is_on(FaultKind::kTaskFailures) && rng_.chance(350)) traits.fail_permille = 400;
      if (rng_.chance(300)) node.retry.emplace().max_retries = 0;
      draft.dag.nodes.push_back(std::move(node));
      draft.traits.push_back(traits);
    }
    if (rng_.chance(250)) add_last(draft);
    if (rng_.chance(150)) draft.dag.run_timeout = share(rng_, lease, 500, 4000);
    if (rng_.chance(300)) draft.dag.params = {{.name = "n", .type = ParamType::kNumber}};
    if (!draft.dag.nodes[0].map && rng_.chance(600)) {
      draft.dag.outputs = {
          {"v", rng_.chance(700) ? "${{ tasks.c0.outputs.v ?? 1 }}" : "${{ tasks.c0.outputs.v }}"}};
    }
    return draft;
  }

  void add_last(RunDraft& draft) {
    NodeSpec node;
    node.name = "last";
    node.finally = true;
    node.command.argv = {"end"};
    NodeTraits traits;
    traits.runs_max = share(rng_, setup_.timings.policy.worker_lease, 5, 500);
    draft.dag.nodes.push_back(std::move(node));
    draft.traits.push_back(traits);
    draft.dag.finally_timeout = setup_.timings.policy.worker_lease * 2;
  }

  Setup& setup_;
  Rng& rng_;
};

Act draw_act_on_any(const Setup& setup, Rng& rng) {
  constexpr ActKind kActs[] = {ActKind::kCancelAny, ActKind::kPauseAny, ActKind::kPauseAny,
                               ActKind::kCancelTask, ActKind::kRetryTask};
  Act act;
  act.at = Instant{} + share(rng, setup.faults_end - Instant{}, 50, 1000);
  act.kind = kActs[rng.below(std::size(kActs))];
  act.pick = rng.next();
  act.on = rng.chance(500);
  return act;
}

}  // namespace

// Sub-DAGs: plain, in maps, one in another, failing, with people who meddle.
void draw_twelfth(Setup& setup, Rng rng) {
  const std::size_t drafts = setup.drafts.size();
  for (std::size_t at = 0; at < drafts; ++at) {
    Rng own = rng.fork(at);
    if (setup.drafts[at].dag.schedule || !own.chance(350)) continue;
    Children(setup, own).draw_for(at, 0);
  }
  Rng people = rng.fork(1000);
  const std::int64_t acts = people.between(2, 8);
  const bool any = setup.drafts.size() > drafts;
  for (std::int64_t i = 0; i < acts && any && setup.is_on(FaultKind::kOperator); ++i) {
    setup.acts.push_back(draw_act_on_any(setup, people));
  }
}

}  // namespace vortex::sim
