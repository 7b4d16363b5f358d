#include "model/graph.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/near_name.h"
#include "model/text_check.h"

namespace vortex {
namespace {

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

}  // namespace

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
      if (std::exchange(last_needed_by[*need], i) == i) {
        return std::unexpected(DagError{DagError::Kind::kDuplicateNeed, node.name,
                                        fmt::format("needs {} twice", in_quotes(name))});
      }
      needs[i].push_back(*need);
    }
  }
  return needs;
}

Needs turn_around(const Needs& needs) {
  Needs needed_by(needs.size());
  for (std::uint32_t i = 0; i < needs.size(); ++i) {
    for (const std::uint32_t need : needs[i]) needed_by[need].push_back(i);
  }
  return needed_by;
}

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

}  // namespace vortex
