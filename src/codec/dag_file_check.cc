#include "codec/dag_file_check.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/dag_json.h"
#include "model/check.h"
#include "model/expression_check.h"

namespace vortex::codec {
namespace {

using Kind = DagError::Kind;

bool full(const DagComplaints& out) { return out.size() >= kProblemsMax; }

std::vector<std::string_view> names_of(const DagSpec& spec, std::string_view except) {
  std::vector<std::string_view> names;
  for (const NodeSpec& node : spec.nodes) {
    if (node.name != except) names.push_back(node.name);
  }
  return names;
}

DagError unknown_need(const DagSpec& spec, const NodeSpec& node, std::size_t at) {
  const std::string& need = node.needs[at];
  const std::string_view near = nearest_name(need, names_of(spec, node.name));
  return {Kind::kUnknownNeed,
          node.name,
          fmt::format("needs {}, which is not a task in this DAG", in_quotes(need)),
          {"needs", fmt::to_string(at)},
          0,
          near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near))};
}

// The text of a task that the error is about; empty when it is about something else.
std::string_view text_of(const DagSpec& spec, const DagError& error) {
  const auto node = std::ranges::find(spec.nodes, error.node, &NodeSpec::name);
  if (node == spec.nodes.end() || error.member.empty()) return {};
  const CommandLine& command = node->command;
  const std::string& first = error.member.front();
  if (first == "workdir") return command.workdir;
  if (first == "env") {
    const auto at = std::ranges::find_if(
        command.env, [&](const auto& pair) { return pair.first == error.member[1]; });
    return at == command.env.end() ? std::string_view() : std::string_view(at->second);
  }
  if (first != "run" && first != "shell") return {};
  const auto& words = first == "run" ? command.argv : command.shell;
  return words[error.member.size() < 2 ? 0 : std::stoul(error.member[1])];
}

}  // namespace

DagComplaint placed_complaint(const LoadedFile& file, const DagSpec& spec, const DagError& error) {
  Problem problem = explain_dag_error(error);
  const Position at = file.place_in_text(
      {.pointer = problem.pointer, .text = text_of(spec, error), .offset = error.offset});
  problem.line = at.line;
  problem.column = at.column;
  return {std::move(problem), error.kind};
}

void complain_of_needs(const LoadedFile& file, const DagSpec& spec, DagComplaints& out) {
  std::unordered_set<std::string_view> names;
  for (const NodeSpec& node : spec.nodes) names.insert(node.name);
  for (const NodeSpec& node : spec.nodes) {
    for (std::size_t i = 0; i < node.needs.size() && !full(out); ++i) {
      if (names.contains(node.needs[i])) continue;
      out.push_back(placed_complaint(file, spec, unknown_need(spec, node, i)));
    }
  }
}

void complain_of_tasks(const LoadedFile& file, const DagSpec& spec, DagComplaints& out) {
  for (const NodeSpec& node : spec.nodes) {
    if (full(out)) return;
    if (auto c = complain_of_name("name", node.name)) {
      out.push_back(placed_complaint(file, spec, {Kind::kBadName, node.name, *std::move(c)}));
    } else if (auto complaint = complain_of_values(node)) {
      out.push_back(
          placed_complaint(file, spec, {Kind::kBadValue, node.name, *std::move(complaint)}));
    }
  }
}

void complain_of_expressions(const LoadedFile& file, const DagSpec& spec, DagComplaints& out) {
  if (full(out)) return;
  for (ExpressionFault& fault : scan_expressions(spec, kProblemsMax).faults) {
    DagComplaint complaint = placed_complaint(file, spec, to_dag_error(spec, std::move(fault)));
    // Tasks share what stands in `defaults`; once is enough.
    const auto same = [&](const DagComplaint& told) {
      return told.problem.line == complaint.problem.line &&
             told.problem.column == complaint.problem.column;
    };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(complaint));
  }
}

}  // namespace vortex::codec
