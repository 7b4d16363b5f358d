#include "model/plan_check.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/map_items.h"
#include "model/node_check.h"
#include "model/text_check.h"

namespace vortex {
namespace {

using Kind = DagError::Kind;
using Fault = std::optional<DagError>;

Fault find_wrong_size(const DagSpec& spec, const DagLimits& limits) {
  if (spec.nodes.empty()) return DagError{Kind::kEmpty, "", "a DAG needs at least one task"};
  if (spec.nodes.size() > limits.nodes_max) {
    return DagError{
        Kind::kTooManyNodes, "",
        fmt::format("{} tasks are too many; the limit is {}", spec.nodes.size(), limits.nodes_max)};
  }
  std::size_t needs = 0;
  for (const NodeSpec& node : spec.nodes) needs += node.needs.size();
  if (needs <= limits.needs_max) return std::nullopt;
  return DagError{
      Kind::kTooManyNeeds, "",
      fmt::format("{} dependencies are too many; the limit is {}", needs, limits.needs_max)};
}

Fault find_bad_name(const DagSpec& spec) {
  if (auto c = complain_of_name("the DAG's name", spec.name)) {
    return DagError{Kind::kBadName, "", *std::move(c)};
  }
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    const std::string& name = spec.nodes[i].name;
    auto c = complain_of_name("name", name);
    if (!c) continue;
    // A name that is not even a line of text is not repeated; the position tells the node.
    const bool shown =
        !complain_of_line("name", name, {.bytes_min = 1, .bytes_max = kNameBytesMax});
    return DagError{Kind::kBadName, shown ? name : "", fmt::format("node {}: {}", i + 1, *c)};
  }
  return std::nullopt;
}

Fault find_duplicate_name(const DagSpec& spec) {
  std::vector<std::pair<std::string_view, std::size_t>> names;
  names.reserve(spec.nodes.size());
  for (const NodeSpec& node : spec.nodes) names.emplace_back(node.name, names.size() + 1);
  std::sort(names.begin(), names.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(names.begin(), names.end(), same);
  if (twice == names.end()) return std::nullopt;
  return DagError{
      Kind::kDuplicateName, std::string(twice->first),
      fmt::format("tasks {} and {} have the same name", twice->second, std::next(twice)->second)};
}

Fault find_bad_param(const DagSpec& spec) {
  if (spec.params.size() > kListMax) {
    return DagError{
        Kind::kBadValue,
        "",
        fmt::format("{} params are too many; the limit is {}", spec.params.size(), kListMax),
        {"params"}};
  }
  std::vector<std::string_view> names;
  for (const ParamSpec& param : spec.params) {
    if (auto c = complain_of_param(param)) {
      return DagError{Kind::kBadValue, "", *std::move(c), {"params", param.name}};
    }
    names.push_back(param.name);
  }
  auto c = complain_of_twice("param", std::move(names));
  if (!c) return std::nullopt;
  return DagError{Kind::kBadValue, "", *std::move(c), {"params"}};
}

Fault find_bad_value(const DagSpec& spec) {
  if (auto c = complain_of_timeout("run timeout", spec.run_timeout)) {
    return DagError{Kind::kBadValue, "", *std::move(c), {"timeout"}};
  }
  if (auto fault = find_bad_param(spec)) return fault;
  for (const NodeSpec& node : spec.nodes) {
    if (auto c = complain_of_values(node)) {
      return DagError{Kind::kBadValue, node.name, *std::move(c)};
    }
  }
  return std::nullopt;
}

Fault find_too_many_tasks(const DagSpec& spec, const DagLimits& limits) {
  std::uint64_t tasks = 0;
  for (const NodeSpec& node : spec.nodes) {
    const std::uint64_t more = node.map ? count_items(*node.map) : 1;
    if (more > limits.tasks_max - tasks) {
      return DagError{Kind::kTooManyTasks, node.name,
                      fmt::format("{} more tasks after {} are too many; the limit is {}", more,
                                  tasks, limits.tasks_max)};
    }
    tasks += more;
  }
  return std::nullopt;
}

}  // namespace

void sort_names(DagSpec& spec) {
  for (NodeSpec& node : spec.nodes) {
    std::sort(node.requirements.labels.begin(), node.requirements.labels.end());
    std::sort(node.requirements.resources.named.begin(), node.requirements.resources.named.end());
  }
}

std::optional<DagError> find_fault(const DagSpec& spec, const DagLimits& limits) {
  if (auto fault = find_wrong_size(spec, limits)) return fault;
  if (auto fault = find_bad_name(spec)) return fault;
  if (auto fault = find_duplicate_name(spec)) return fault;
  if (auto fault = find_bad_value(spec)) return fault;
  return find_too_many_tasks(spec, limits);
}

}  // namespace vortex
