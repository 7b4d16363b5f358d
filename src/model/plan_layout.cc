#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "model/dag.h"
#include "model/plan.h"

namespace vortex {

DagPlan::DagPlan(std::shared_ptr<const PlanBase> shared)
    : base(std::move(shared)),
      spec(base->spec),
      nodes(base->nodes),
      nodes_by_level(base->nodes_by_level),
      reads(base->reads),
      lists(base->lists),
      finally(base->finally),
      asking(base->asking),
      param_reads(base->param_reads),
      param_lists(base->param_lists),
      levels(base->levels),
      digest(base->digest),
      bytes(base->bytes),
      tasks(base->tasks),
      late_of(base->late_maps, 0) {}

const LaidOut* DagPlan::laid_out(std::uint32_t node) const {
  const auto& number = nodes[node].late_map;
  if (!number || late_of[*number] == 0) return nullptr;
  return &late[late_of[*number] - 1];
}

std::uint32_t DagPlan::first_task(std::uint32_t node) const {
  if (!is_late(node)) return nodes[node].planned_first;
  const LaidOut* map = laid_out(node);
  return map != nullptr ? map->first_task : tasks;
}

std::uint32_t DagPlan::tasks_of(std::uint32_t node) const {
  const LaidOut* map = laid_out(node);
  return map != nullptr ? map->tasks : nodes[node].planned_tasks;
}

// Of neighbours that begin at the same index all but the last have no tasks.
std::uint32_t DagPlan::node_of_task(std::uint32_t task_index) const {
  VX_ASSERT(task_index < tasks);
  if (task_index >= base->tasks) {
    const auto after = std::upper_bound(
        late.begin(), late.end(), task_index,
        [](std::uint32_t index, const LaidOut& m) { return index < m.first_task; });
    return (after - 1)->node;
  }
  const auto after = std::upper_bound(
      nodes.begin(), nodes.end(), task_index,
      [](std::uint32_t index, const PlanNode& node) { return index < node.planned_first; });
  return static_cast<std::uint32_t>(after - nodes.begin()) - 1;
}

std::uint32_t DagPlan::position_of(std::uint32_t task_index) const {
  return task_index - first_task(node_of_task(task_index));
}

std::string DagPlan::map_item(std::uint32_t task_index) const {
  const std::uint32_t node = node_of_task(task_index);
  const std::uint32_t position = task_index - first_task(node);
  if (const LaidOut* map = laid_out(node)) return map->items ? (*map->items)[position] : "";
  const auto& map = node_spec(node).map;
  return map ? item_text(*map, position) : std::string();
}

bool DagPlan::has_items(std::uint32_t node) const {
  if (!is_late(node)) return true;
  const LaidOut* map = laid_out(node);
  return map != nullptr && map->items != nullptr;
}

PlanPtr lay_out(const DagPlan& plan, LaidOut map) {
  VX_ASSERT(plan.is_late(map.node) && plan.laid_out(map.node) == nullptr);
  const auto next = std::make_shared<DagPlan>(plan);
  map.first_task = plan.tasks;
  VX_ASSERT(map.items == nullptr || map.items->size() == map.tasks);
  next->tasks += map.tasks;
  VX_ASSERT(next->tasks >= plan.tasks);
  next->late.push_back(std::move(map));
  next->late_of[*plan.nodes[next->late.back().node].late_map] =
      static_cast<std::uint32_t>(next->late.size());
  return next;
}

PlanPtr with_items(const DagPlan& plan, std::uint32_t node, MapItems items) {
  const LaidOut* map = plan.laid_out(node);
  VX_ASSERT(map != nullptr && (items == nullptr || items->size() == map->tasks));
  const auto next = std::make_shared<DagPlan>(plan);
  next->late[plan.late_of[*plan.nodes[node].late_map] - 1].items = std::move(items);
  return next;
}

PlanPtr unexpanded(const PlanPtr& plan) {
  return plan->late.empty() ? plan : std::make_shared<const DagPlan>(plan->base);
}

LateCounts late_counts(const DagPlan& plan) {
  LateCounts counts;
  counts.reserve(plan.late.size() * 2);
  for (const LaidOut& map : plan.late) {
    counts.push_back(map.node);
    counts.push_back(map.failed ? kLateFailed : map.tasks);
  }
  return counts;
}

std::uint32_t late_tasks(const LateCounts& counts) {
  std::uint32_t sum = 0;
  for (std::size_t i = 1; i < counts.size(); i += 2) {
    sum += counts[i] == kLateFailed ? 1 : counts[i];
  }
  return sum;
}

std::expected<PlanPtr, std::string> laid_out_again(const PlanPtr& plan, const LateCounts& counts) {
  if (counts.empty()) return unexpanded(plan);
  if (counts.size() % 2 != 0) return std::unexpected("has an odd number of numbers");
  const auto next = std::make_shared<DagPlan>(plan->base);
  for (std::size_t i = 0; i < counts.size(); i += 2) {
    const std::uint32_t node = counts[i];
    const bool failed = counts[i + 1] == kLateFailed;
    const std::uint32_t tasks = failed ? 1 : counts[i + 1];
    if (node >= next->nodes.size() || !next->is_late(node) || next->laid_out(node) != nullptr) {
      return std::unexpected(
          fmt::format("refers to node {}, which is no map that was made at run time", node));
    }
    if (tasks > kTaskIndexMax - std::min(next->tasks, kTaskIndexMax)) {
      return std::unexpected(
          fmt::format("gives node {} {} tasks, which are too many", node, tasks));
    }
    next->late.push_back({node, next->tasks, tasks, failed, nullptr});
    next->tasks += tasks;
    next->late_of[*next->nodes[node].late_map] = static_cast<std::uint32_t>(next->late.size());
  }
  return next;
}

}  // namespace vortex
