#include "model/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "model/expression_check.h"
#include "model/graph.h"
#include "model/map_items.h"
#include "model/plan_check.h"
#include "model/spec_digest.h"

namespace vortex {
namespace {

// Precondition: find_fault had nothing to say, so every count is at least 1 and the sum fits.
void number_tasks(DagPlan& plan) {
  for (PlanNode& node : plan.nodes) {
    const auto& map = plan.spec.nodes[node.spec].map;
    node.first_task = plan.tasks;
    node.tasks = map ? static_cast<std::uint32_t>(count_items(*map)) : 1;
    plan.tasks += node.tasks;
  }
}

std::expected<void, DagError> check_depth(const DagPlan& plan, const DagLimits& limits) {
  if (plan.levels <= limits.depth_max) return {};
  const auto deep = std::find_if(plan.nodes.begin(), plan.nodes.end(), [&](const PlanNode& node) {
    return node.level >= limits.depth_max;
  });
  return std::unexpected(DagError{DagError::Kind::kTooDeep, plan.spec.nodes[deep->spec].name,
                                  fmt::format("is on level {} of {}; at most {} levels are allowed",
                                              deep->level, plan.levels, limits.depth_max)});
}

std::expected<void, DagError> link_nodes(DagPlan& plan) {
  auto needs = resolve_needs(plan.spec);
  if (!needs) return std::unexpected(std::move(needs).error());
  Needs needed_by = turn_around(*needs);
  auto levels = find_levels(plan.spec, *needs, needed_by);
  if (!levels) return std::unexpected(std::move(levels).error());
  plan.nodes.resize(plan.spec.nodes.size());
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    PlanNode& node = plan.nodes[i];
    node.spec = i;
    node.level = (*levels)[i];
    node.needs = std::move((*needs)[i]);
    node.needed_by = std::move(needed_by[i]);
    plan.levels = std::max(plan.levels, node.level + 1);
  }
  return {};
}

std::expected<void, DagError> link_inputs(DagPlan& plan) {
  ExpressionScan scan = scan_expressions(plan.spec, 1);
  if (scan.faults.empty()) scan.faults = find_unneeded(plan, scan.uses, 1);
  if (!scan.faults.empty()) {
    return std::unexpected(to_dag_error(plan.spec, std::move(scan.faults.front())));
  }
  for (const OutputUse& use : scan.uses) plan.nodes[use.node].inputs.push_back(use.from);
  for (PlanNode& node : plan.nodes) {
    std::sort(node.inputs.begin(), node.inputs.end());
    node.inputs.erase(std::unique(node.inputs.begin(), node.inputs.end()), node.inputs.end());
  }
  return {};
}

}  // namespace

std::uint32_t DagPlan::node_of_task(std::uint32_t task_index) const {
  VX_ASSERT(task_index < tasks);
  const auto after = std::upper_bound(
      nodes.begin(), nodes.end(), task_index,
      [](std::uint32_t index, const PlanNode& node) { return index < node.first_task; });
  return static_cast<std::uint32_t>(after - nodes.begin()) - 1;
}

std::string DagPlan::map_item(std::uint32_t task_index) const {
  const PlanNode& node = nodes[node_of_task(task_index)];
  const auto& map = spec.nodes[node.spec].map;
  return map ? item_text(*map, task_index - node.first_task) : std::string();
}

std::expected<PlanPtr, DagError> compile(DagSpec spec, const DagLimits& limits) {
  sort_names(spec);
  if (auto fault = find_fault(spec, limits)) return std::unexpected(*std::move(fault));
  auto plan = std::make_shared<DagPlan>();
  plan->spec = std::move(spec);
  if (auto linked = link_nodes(*plan); !linked) return std::unexpected(std::move(linked).error());
  if (auto fits = check_depth(*plan, limits); !fits)
    return std::unexpected(std::move(fits).error());
  number_tasks(*plan);
  plan->nodes_by_level.resize(plan->levels);
  for (std::uint32_t i = 0; i < plan->nodes.size(); ++i) {
    plan->nodes_by_level[plan->nodes[i].level].push_back(i);
  }
  if (auto linked = link_inputs(*plan); !linked) return std::unexpected(std::move(linked).error());
  plan->digest = digest_of(plan->spec);
  return plan;
}

}  // namespace vortex
