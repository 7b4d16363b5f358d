#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// In the form that sim/check/late_maps.cc can read: short strings, or what no map can go over.
std::string draw_list(Rng& rng, std::uint64_t items_max) {
  if (rng.chance(80)) return rng.chance(500) ? "7" : R"("no list")";
  std::string out = "[";
  const std::uint64_t items = rng.chance(200) ? 0 : rng.below(items_max + 1);
  for (std::uint64_t i = 0; i < items; ++i) {
    out += fmt::format(R"({}"{}")", i == 0 ? "" : ",", static_cast<char>('a' + rng.below(26)));
  }
  return out + "]";
}

// Plain nodes that this one needs directly.
std::vector<std::size_t> sources_of(const DagSpec& dag, const NodeSpec& node) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < dag.nodes.size(); ++i) {
    const NodeSpec& from = dag.nodes[i];
    if (from.map || std::ranges::find(node.needs, from.name) == node.needs.end()) continue;
    if (from.outputs.empty() || from.outputs.front() == "v") found.push_back(i);
  }
  return found;
}

// Its own outputs are read as those of one task.
bool is_read(const DagSpec& dag, const NodeSpec& node) {
  const std::string path = "tasks." + node.name + ".outputs";
  return std::ranges::any_of(dag.nodes, [&](const NodeSpec& other) {
    const bool late = other.map && is_late(*other.map);
    return other.condition.contains(path) ||
           (late && std::get<MapOver>(other.map->over).text.contains(path));
  });
}

void draw_source(RunDraft& draft, NodeSpec& node, Rng& rng) {
  const auto sources = sources_of(draft.dag, node);
  if (sources.empty() || rng.chance(150)) {
    if (!draft.dag.params.empty()) return;
    if (!node.map) node.map.emplace();
    node.map->over = MapOver{"${{ params.l }}"};
    if (draft.params.empty()) draft.params = fmt::format(R"({{"l":{}}})", draw_list(rng, 12));
    return;
  }
  const std::size_t from = sources[rng.below(sources.size())];
  if (!node.map) node.map.emplace();
  node.map->over =
      MapOver{fmt::format("${{{{ tasks.{}.outputs.l }}}}", draft.dag.nodes[from].name)};
  // Sometimes the source has no such output.
  std::string& list = draft.traits[from].list;
  if (list.empty() && rng.chance(930)) list = draw_list(rng, rng.chance(100) ? 60 : 8);
  if (!list.empty() && !draft.dag.nodes[from].outputs.empty()) {
    draft.dag.nodes[from].outputs = {"v", "l"};
  }
}

}  // namespace

// Maps over what earlier tasks complete with, and over params.
void draw_eighth(Setup& setup, Rng rng) {
  setup.timings.policy.outputs_bytes_max =
      std::max<std::uint32_t>(setup.timings.policy.outputs_bytes_max, 400);
  for (RunDraft& draft : setup.drafts) {
    Rng own = rng.fork(static_cast<std::uint64_t>(&draft - setup.drafts.data()));
    if (!own.chance(450)) continue;
    for (NodeSpec& node : draft.dag.nodes) {
      if (is_read(draft.dag, node) || !own.chance(node.map ? 500 : 250)) continue;
      draw_source(draft, node, own);
    }
  }
}

}  // namespace vortex::sim
