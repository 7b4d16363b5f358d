#include "model/plan.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "model/check.h"
#include "model/dag.h"
#include "model/expression_check.h"
#include "model/passing/children.h"

namespace vortex {
namespace {

// The needs of a DAG as a graph of indexes, and the two questions asked of it: is there a cycle,
// and how deep is each node.
//
// Nothing here recurses: a chain may be as long as the limits allow, the stack may not.

// needs[i] are the indexes of the nodes that node i needs, in the order of the specification.
// Precondition: the names are valid and distinct.
using Needs = std::vector<std::vector<std::uint32_t>>;

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kCycleNamesMax = 20;

using NameIndex = std::vector<std::pair<std::string_view, std::uint32_t>>;  // sorted

NameIndex index_names(const DagSpec& spec) {
  NameIndex names;
  names.reserve(spec.nodes.size());
  for (const NodeSpec& node : spec.nodes) {
    names.emplace_back(node.name, static_cast<std::uint32_t>(names.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::uint32_t> find_name(const NameIndex& names, std::string_view name) {
  const auto at = std::lower_bound(names.begin(), names.end(), std::pair{name, std::uint32_t{0}});
  if (at == names.end() || at->first != name) return std::nullopt;
  return at->second;
}

DagError unknown_need(const NodeSpec& node, std::string_view need, const DagSpec& spec) {
  std::vector<std::string_view> others;
  for (const NodeSpec& other : spec.nodes) {
    if (other.name != node.name) others.push_back(other.name);
  }
  const auto meant = nearest_name(need, others);
  return {DagError::Kind::kUnknownNeed, node.name,
          fmt::format("needs {}, which is not a task in this DAG{}", in_quotes(need),
                      meant.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(meant)))};
}

// The way from `start` along unfinished needs, until it meets itself. Each unfinished node has an
// unfinished need, so the way never ends before.
std::vector<std::uint32_t> walk_cycle(const Needs& needs, const std::vector<std::uint32_t>& unmet,
                                      std::uint32_t start) {
  std::vector<std::uint32_t> way;
  std::vector<std::uint32_t> place(needs.size(), kNowhere);
  std::uint32_t at = start;
  while (place[at] == kNowhere) {
    place[at] = static_cast<std::uint32_t>(way.size());
    way.push_back(at);
    const auto next = std::find_if(needs[at].begin(), needs[at].end(),
                                   [&](std::uint32_t need) { return unmet[need] > 0; });
    VX_ASSERT(next != needs[at].end());
    at = *next;
  }
  way.erase(way.begin(), way.begin() + place[at]);
  return way;
}

// Told in the direction in which work would flow, from the node that stands first in the file.
DagError cycle_error(const DagSpec& spec, std::vector<std::uint32_t> cycle) {
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  const std::string& first = spec.nodes[cycle.front()].name;
  std::string text;
  for (std::size_t i = 0; i < cycle.size() && i < kCycleNamesMax; ++i) {
    text += spec.nodes[cycle[i]].name + " -> ";
  }
  if (cycle.size() > kCycleNamesMax) {
    text += fmt::format("... {} more ... -> ", cycle.size() - kCycleNamesMax);
  }
  return {DagError::Kind::kCycle, first, fmt::format("waits for itself: {}{}", text, first)};
}

// Tasks of `finally` run when all others have ended, so needs between the two say nothing.
std::optional<DagError> across_finally(const NodeSpec& node, const NodeSpec& need) {
  if (node.finally == need.finally) return std::nullopt;
  const bool last = node.finally;
  return DagError{
      DagError::Kind::kUnknownNeed,
      node.name,
      last ? fmt::format("is in 'finally' and needs {}, which is in 'tasks'", in_quotes(need.name))
           : fmt::format("needs {}, which is in 'finally' and runs after it", in_quotes(need.name)),
      {"needs"},
      0,
      last ? "remove the need: tasks in 'finally' start when all others have ended"
           : "move that task to 'tasks'"};
}

std::expected<Needs, DagError> resolve_needs(const DagSpec& spec) {
  const NameIndex names = index_names(spec);
  Needs needs(spec.nodes.size());
  std::vector<std::uint32_t> last_needed_by(spec.nodes.size(), kNowhere);
  for (std::uint32_t i = 0; i < spec.nodes.size(); ++i) {
    const NodeSpec& node = spec.nodes[i];
    needs[i].reserve(node.needs.size());
    for (const std::string& name : node.needs) {
      const auto need = find_name(names, name);
      if (!need) return std::unexpected(unknown_need(node, name, spec));
      if (*need == i) {
        return std::unexpected(DagError{DagError::Kind::kSelfNeed, node.name, "needs itself"});
      }
      if (auto wrong = across_finally(node, spec.nodes[*need])) return std::unexpected(*wrong);
      if (std::exchange(last_needed_by[*need], i) == i) {
        return std::unexpected(DagError{DagError::Kind::kDuplicateNeed, node.name,
                                        fmt::format("needs {} twice", in_quotes(name))});
      }
      needs[i].push_back(*need);
    }
  }
  return needs;
}

// needed_by[i] are the nodes that need node i, lowest first.
Needs turn_around(const Needs& needs) {
  Needs needed_by(needs.size());
  for (std::uint32_t i = 0; i < needs.size(); ++i) {
    for (const std::uint32_t need : needs[i]) needed_by[need].push_back(i);
  }
  return needed_by;
}

// The level of each node: 0 without needs, else one above the highest of its needs.
std::expected<std::vector<std::uint32_t>, DagError> find_levels(const DagSpec& spec,
                                                                const Needs& needs,
                                                                const Needs& needed_by) {
  std::vector<std::uint32_t> levels(needs.size(), 0);
  std::vector<std::uint32_t> unmet;
  std::vector<std::uint32_t> finished;  // in an order in which they could run
  for (std::uint32_t i = 0; i < needs.size(); ++i) {
    unmet.push_back(static_cast<std::uint32_t>(needs[i].size()));
    if (needs[i].empty()) finished.push_back(i);
  }
  for (std::size_t done = 0; done < finished.size(); ++done) {
    const std::uint32_t node = finished[done];
    for (const std::uint32_t later : needed_by[node]) {
      levels[later] = std::max(levels[later], levels[node] + 1);
      if (--unmet[later] == 0) finished.push_back(later);
    }
  }
  if (finished.size() == needs.size()) return levels;
  const auto stuck = std::find_if(unmet.begin(), unmet.end(), [](auto count) { return count > 0; });
  const auto start = static_cast<std::uint32_t>(stuck - unmet.begin());
  return std::unexpected(cycle_error(spec, walk_cycle(needs, unmet, start)));
}

// Precondition: find_fault had nothing to say, so the sum fits.
void number_tasks(PlanBase& plan) {
  for (PlanNode& node : plan.nodes) {
    const auto& map = plan.spec.nodes[node.spec].map;
    node.planned_first = plan.tasks;
    node.planned_tasks = map ? static_cast<std::uint32_t>(count_items(*map)) : 1;
    if (map && is_late(*map)) node.late_map = plan.late_maps++;
    plan.tasks += node.planned_tasks;
  }
}

std::expected<void, DagError> check_depth(const PlanBase& plan, const DagLimits& limits) {
  if (plan.levels <= limits.depth_max) return {};
  const auto deep = std::find_if(plan.nodes.begin(), plan.nodes.end(), [&](const PlanNode& node) {
    return node.level >= limits.depth_max;
  });
  return std::unexpected(DagError{DagError::Kind::kTooDeep, plan.spec.nodes[deep->spec].name,
                                  fmt::format("is on level {} of {}; at most {} levels are allowed",
                                              deep->level, plan.levels, limits.depth_max)});
}

// What runs last stands above everything else.
void raise_finally(const DagSpec& spec, std::vector<std::uint32_t>& levels) {
  std::uint32_t above = 0;
  for (std::uint32_t i = 0; i < levels.size(); ++i) {
    if (!spec.nodes[i].finally) above = std::max(above, levels[i] + 1);
  }
  for (std::uint32_t i = 0; i < levels.size(); ++i) {
    if (spec.nodes[i].finally) levels[i] += above;
  }
}

std::expected<void, DagError> link_nodes(PlanBase& plan) {
  auto needs = resolve_needs(plan.spec);
  if (!needs) return std::unexpected(std::move(needs).error());
  Needs needed_by = turn_around(*needs);
  auto levels = find_levels(plan.spec, *needs, needed_by);
  if (!levels) return std::unexpected(std::move(levels).error());
  raise_finally(plan.spec, *levels);
  plan.nodes.resize(plan.spec.nodes.size());
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    PlanNode& node = plan.nodes[i];
    node.spec = i;
    node.level = (*levels)[i];
    node.needs = std::move((*needs)[i]);
    node.needed_by = std::move(needed_by[i]);
    plan.levels = std::max(plan.levels, node.level + 1);
    if (plan.spec.nodes[i].finally) plan.finally.push_back(i);
    const auto& wait = plan.spec.nodes[i].wait;
    if (wait && wait->asks()) plan.asking.push_back(i);
  }
  return {};
}

std::expected<void, DagError> link_inputs(PlanBase& plan) {
  ExpressionScan scan = scan_expressions(plan.spec, 1);
  if (scan.faults.empty()) scan.faults = find_unneeded(plan, scan.uses, 1);
  if (!scan.faults.empty()) {
    return std::unexpected(to_dag_error(plan.spec, std::move(scan.faults.front())));
  }
  for (const OutputUse& use : scan.uses) {
    if (!use.by_core) plan.nodes[use.node].inputs.push_back(use.from);
  }
  for (PlanNode& node : plan.nodes) {
    std::sort(node.inputs.begin(), node.inputs.end());
    node.inputs.erase(std::unique(node.inputs.begin(), node.inputs.end()), node.inputs.end());
  }
  return {};
}

// ---- Conditions ----

ValueRead read_of(const NameIndex& names, const Path& path) {
  ValueRead read;
  if (path.root == PathRoot::kParam) {
    read.steps.emplace_back(path.name);
  } else {
    read.node = find_name(names, path.name);
  }
  read.steps.insert(read.steps.end(), path.steps.begin(), path.steps.end());
  return read;
}

using ReadIndex = std::map<ValueRead, std::vector<Condition*>>;

void link_condition(PlanBase& plan, std::uint32_t index, const NameIndex& names, ReadIndex& reads) {
  // It was parsed before, by scan_expressions, and everything in it was found.
  auto parsed = parse_condition(plan.spec.nodes[index].condition);
  VX_ASSERT(parsed);
  const auto linked = std::make_shared<NodeCondition>();
  linked->condition = *std::move(parsed);
  for (Condition* read : reads_of(linked->condition)) {
    if (read->kind == Condition::Kind::kRunResult) continue;
    const auto from = find_name(names, read->path.name);
    if (read->path.root == PathRoot::kOutputs) linked->nodes.push_back(from.value());
    if (is_ending(read->kind)) {
      read->reads = from.value();
    } else {
      reads[read_of(names, read->path)].push_back(read);
    }
  }
  std::sort(linked->nodes.begin(), linked->nodes.end());
  linked->nodes.erase(std::unique(linked->nodes.begin(), linked->nodes.end()), linked->nodes.end());
  for (const std::uint32_t from : linked->nodes) plan.nodes[from].readers.push_back(index);
  plan.nodes[index].condition = linked;
}

// Many conditions can be decided in one step, in which everybody else waits.
std::expected<void, DagError> add_cost(ConditionCost& sum, const NodeSpec& node,
                                       const ConditionCost& one, const DagLimits& limits) {
  sum.terms += one.terms;
  sum.searches += one.searches;
  const auto over = [&node](std::string_view what, std::size_t most) {
    return std::unexpected(
        DagError{DagError::Kind::kBadValue,
                 node.name,
                 fmt::format("the conditions of this DAG have more than {} {}", most, what),
                 {"if"},
                 0,
                 "let a task compute the value that many conditions need, or split the DAG"});
  };
  if (sum.terms > limits.condition_terms_max) return over("parts", limits.condition_terms_max);
  if (sum.searches > limits.condition_searches_max) {
    return over("calls of contains()", limits.condition_searches_max);
  }
  return {};
}

// Precondition: link_inputs had nothing to say.
std::expected<void, DagError> link_conditions(PlanBase& plan, const DagLimits& limits) {
  const auto has_one = [](const NodeSpec& node) { return !node.condition.empty(); };
  if (std::none_of(plan.spec.nodes.begin(), plan.spec.nodes.end(), has_one)) return {};
  const NameIndex names = index_names(plan.spec);
  ReadIndex reads;
  ConditionCost cost;
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    if (!has_one(plan.spec.nodes[i])) continue;
    link_condition(plan, i, names, reads);
    const ConditionCost own = cost_of(plan.nodes[i].condition->condition);
    if (auto fits = add_cost(cost, plan.spec.nodes[i], own, limits); !fits) return fits;
  }
  plan.bytes += cost.terms * sizeof(Condition);
  for (const auto& [read, users] : reads) {
    const auto number = static_cast<std::uint32_t>(plan.reads.size());
    for (Condition* user : users) user->reads = number;
    if (!read.node) {
      ++plan.param_reads;
    } else if (PlanNode& node = plan.nodes[*read.node]; node.reads++ == 0) {
      node.first_read = number;
    }
    plan.reads.push_back(read);
  }
  return {};
}

// ---- Late maps ----

// Precondition: link_inputs had nothing to say, so each text is one path that can be read.
void link_maps(PlanBase& plan) {
  if (plan.late_maps == 0) return;
  const NameIndex names = index_names(plan.spec);
  std::map<ValueRead, std::vector<std::uint32_t>> users;
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    if (!plan.nodes[i].late_map) continue;
    const auto path = path_of_map(std::get<MapOver>(plan.spec.nodes[i].map->over).text);
    VX_ASSERT(path);
    const ValueRead read = read_of(names, *path);
    if (read.node) plan.nodes[*read.node].readers.push_back(i);
    users[read].push_back(i);
  }
  for (const auto& [read, nodes] : users) {
    const auto number = static_cast<std::uint32_t>(plan.lists.size());
    for (const std::uint32_t node : nodes) plan.nodes[node].map_source = number;
    if (!read.node) {
      ++plan.param_lists;
    } else if (ReadSpan& span = plan.nodes[*read.node].lists; span.count++ == 0) {
      span.first = number;
    }
    plan.lists.push_back(read);
  }
  for (PlanNode& node : plan.nodes) {
    std::sort(node.readers.begin(), node.readers.end());
    node.readers.erase(std::unique(node.readers.begin(), node.readers.end()), node.readers.end());
  }
}

std::expected<PlanPtr, DagError> compile_checked(DagSpec spec, const DagLimits& limits,
                                                 const CompiledDags& dags) {
  sort_names(spec);
  if (auto fault = find_fault(spec, limits)) return std::unexpected(*std::move(fault));
  const auto plan = std::make_shared<PlanBase>();
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
  if (auto linked = link_conditions(*plan, limits); !linked) {
    return std::unexpected(std::move(linked).error());
  }
  link_maps(*plan);
  if (const auto& concurrency = plan->spec.concurrency) {
    auto key = parse_template(concurrency->key);
    VX_ASSERT(key);  // find_fault looked at it
    plan->group_key = *std::move(key);
  }
  if (auto wrong = link_children(*plan, dags)) return std::unexpected(*std::move(wrong));
  const SpecDigest digest = measure(plan->spec);
  plan->digest = digest.value;
  plan->bytes += digest.bytes;
  return std::make_shared<const DagPlan>(plan);
}

}  // namespace

std::expected<PlanPtr, DagError> compile(DagSpec spec, const DagLimits& limits) {
  std::vector<std::string> last;
  for (const NodeSpec& node : spec.nodes) {
    if (node.finally) last.push_back(node.name);
  }
  const auto compile_one = [&limits](DagSpec one, const CompiledDags& below) {
    return compile_checked(std::move(one), limits, below);
  };
  auto dags = compile_dags(spec, compile_one);
  auto plan = dags ? compile_one(std::move(spec), *dags) : std::unexpected(std::move(dags).error());
  if (!plan && plan.error().dag.empty())
    plan.error().in_finally = std::ranges::find(last, plan.error().node) != last.end();
  return plan;
}

}  // namespace vortex
