#include "cli/dag_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/table.h"

namespace vortex::cli {
namespace {

std::string label_of(const DagPlan& plan, std::uint32_t node) {
  const std::string& name = plan.node_spec(node).name;
  return plan.node_spec(node).map ? fmt::format("{} x{}", name, plan.nodes[node].tasks) : name;
}

// "a", "a, b and 3 more".
std::string needs_text(const DagPlan& plan, std::uint32_t node) {
  constexpr std::size_t kShownMax = 4;
  std::vector<std::string> names;
  const auto& needs = plan.nodes[node].needs;
  for (std::size_t i = 0; i < needs.size() && i < kShownMax; ++i) {
    names.push_back(plan.node_spec(needs[i]).name);
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (needs.size() > kShownMax) text += fmt::format(" and {} more", needs.size() - kShownMax);
  return text;
}

std::string_view rule_text(TriggerRule rule) {
  switch (rule) {
    case TriggerRule::kAllSuccess:
      return "";
    case TriggerRule::kAllFailed:
      return "all_failed";
    case TriggerRule::kAllDone:
      return "all_done";
    case TriggerRule::kOneSuccess:
      return "one_success";
    case TriggerRule::kOneFailed:
      return "one_failed";
    case TriggerRule::kNoneFailed:
      return "none_failed";
    case TriggerRule::kNoneSkipped:
      return "none_skipped";
  }
  return "";
}

// Names hold letters, digits, '-', '_' and '.' only: nothing to escape inside quotes.
std::string edges(const DagPlan& plan, const char* form) {
  std::string out;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    for (const std::uint32_t need : plan.nodes[node].needs) {
      out += fmt::format(fmt::runtime(form), need, node);
    }
  }
  return out;
}

}  // namespace

std::string graph_text(const DagPlan& plan, const Look& look) {
  Table table({{"LEVEL", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"TASK", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"NEEDS", Align::kLeft, Shown::kAlways, Shrinks::kMay},
               {"RULE", Align::kLeft, Shown::kAlways, Shrinks::kNever}});
  for (std::uint32_t level = 0; level < plan.levels; ++level) {
    for (const std::uint32_t node : plan.nodes_by_level[level]) {
      const std::string indent(std::size_t{2} * level, ' ');
      table.add({{std::to_string(level), Tone::kDim},
                 {indent + label_of(plan, node), Tone::kStrong},
                 {needs_text(plan, node), Tone::kPlain},
                 {std::string(rule_text(plan.node_spec(node).trigger)), Tone::kDim}});
    }
  }
  return table.text(look);
}

std::string graph_mermaid(const DagPlan& plan) {
  std::string out = "flowchart LR\n";
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    const bool map = plan.node_spec(node).map.has_value();
    out += fmt::format("  n{}{}\"{}\"{}\n", node, map ? "[[" : "[", label_of(plan, node),
                       map ? "]]" : "]");
  }
  return out + edges(plan, "  n{} --> n{}\n");
}

std::string graph_dot(const DagPlan& plan) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", plan.spec.name);
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    const bool map = plan.node_spec(node).map.has_value();
    out += fmt::format("  n{} [label=\"{}\"{}];\n", node, label_of(plan, node),
                       map ? ", shape=box3d" : "");
  }
  return out + edges(plan, "  n{} -> n{};\n") + "}\n";
}

}  // namespace vortex::cli
