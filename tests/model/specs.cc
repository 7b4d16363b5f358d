#include "tests/model/specs.h"

#include <algorithm>

#include <fmt/format.h>

namespace vortex::testing {
namespace {

std::string broken_level_law(const DagPlan& plan) {
  std::uint32_t levels = 0;
  for (const PlanNode& node : plan.nodes) {
    std::uint32_t expected = 0;
    for (const std::uint32_t need : node.needs) {
      expected = std::max(expected, plan.nodes[need].level + 1);
    }
    if (node.level != expected) return fmt::format("node {} is on level {}", node.spec, node.level);
    levels = std::max(levels, node.level + 1);
  }
  return levels == plan.levels ? "" : fmt::format("{} levels, not {}", levels, plan.levels);
}

bool contains(const std::vector<std::uint32_t>& list, std::uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string broken_need_law(const DagPlan& plan) {
  std::size_t needs = 0;
  std::size_t needed_by = 0;
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    if (node.spec != i) return fmt::format("node {} stands at {}", node.spec, i);
    if (node.needs.size() != plan.node_spec(i).needs.size()) return "needs went missing";
    for (std::size_t k = 0; k < node.needs.size(); ++k) {
      if (plan.node_spec(node.needs[k]).name != plan.node_spec(i).needs[k]) return "wrong need";
      if (!contains(plan.nodes[node.needs[k]].needed_by, i)) return "needed_by is not the reverse";
    }
    if (!std::is_sorted(node.needed_by.begin(), node.needed_by.end())) return "needed_by unsorted";
    needs += node.needs.size();
    needed_by += node.needed_by.size();
  }
  return needs == needed_by ? "" : "needed_by has more than the needs";
}

std::string broken_task_law(const DagPlan& plan) {
  std::uint32_t next_task = 0;
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const std::uint32_t first = plan.first_task(i);
    if (first != next_task || plan.tasks_of(i) == 0) return "tasks are not a partition";
    next_task += plan.tasks_of(i);
    for (const std::uint32_t task : {first, next_task - 1}) {
      if (plan.node_of_task(task) != i) return fmt::format("task {} is not of node {}", task, i);
      if (!plan.node_spec(i).map && !plan.map_item(task).empty()) {
        return "an item without a map";
      }
    }
  }
  return next_task == plan.tasks ? "" : "tasks do not add up";
}

}  // namespace

DagSpec chain(std::uint32_t nodes) {
  DagSpec spec = dag({node("n0")});
  for (std::uint32_t i = 1; i < nodes; ++i) {
    spec.nodes.push_back(node(fmt::format("n{}", i), {fmt::format("n{}", i - 1)}));
  }
  return spec;
}

std::string broken_law(const DagPlan& plan) {
  for (const auto law : {broken_level_law, broken_need_law, broken_task_law}) {
    if (auto broken = law(plan); !broken.empty()) return broken;
  }
  return {};
}

}  // namespace vortex::testing
