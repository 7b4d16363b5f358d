#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// The nodes that this one needs, directly or not: those drawn before it.
std::vector<std::size_t> needed_by(const DagSpec& dag, std::size_t node) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> open{node};
  while (!open.empty()) {
    const std::vector<std::string> needs = dag.nodes[open.back()].needs;
    open.pop_back();
    for (std::size_t i = 0; i < dag.nodes.size(); ++i) {
      if (std::ranges::find(needs, dag.nodes[i].name) == needs.end()) continue;
      if (std::ranges::find(all, i) != all.end()) continue;
      all.push_back(i);
      open.push_back(i);
    }
  }
  std::ranges::sort(all);
  return all;
}

bool has_value(const NodeSpec& node) {
  return !node.map && (node.outputs.empty() || node.outputs.front() == "v");
}

// In the forms that sim/check/condition_says.h can read.
std::string draw_atom(RunDraft& draft, const std::vector<std::size_t>& needs, Rng& rng) {
  const std::string no = rng.chance(250) ? "not " : "";
  const std::uint64_t kind = rng.below(10);
  if (kind == 0 && !draft.dag.params.empty()) {
    return fmt::format("{}params.n == {}", no, rng.between(2, 3));
  }
  if (needs.empty() || kind == 1) return no + (rng.chance(600) ? "true" : "false");
  const std::size_t of = needs[rng.below(needs.size())];
  const NodeSpec& node = draft.dag.nodes[of];
  if (kind < 6 && has_value(node)) {
    if (rng.chance(800)) draft.traits[of].outputs = true;
    const std::int64_t most = rng.between(1, 3);
    if (rng.chance(500)) return fmt::format("{}tasks.{}.outputs.v >= {}", no, node.name, most);
    return fmt::format("{}(tasks.{}.outputs.v ?? {}) >= {}", no, node.name, rng.below(3), most);
  }
  constexpr const char* kEndings[] = {"succeeded", "failed", "skipped"};
  return fmt::format("{}{}({})", no, kEndings[rng.below(3)], node.name);
}

std::string draw_condition(RunDraft& draft, std::size_t node, Rng& rng) {
  const auto needs = needed_by(draft.dag, node);
  std::string out = draw_atom(draft, needs, rng);
  const char* with = rng.chance(500) ? " and " : " or ";
  while (rng.chance(250)) out += with + draw_atom(draft, needs, rng);
  return out;
}

void draw_causes(NodeSpec& node, Rng& rng) {
  if (!node.retry) return;
  if (rng.chance(200)) {
    constexpr RetryCause kAll[] = {RetryCause::kFailed,        RetryCause::kSignal,
                                   RetryCause::kOutOfMemory,   RetryCause::kTimedOut,
                                   RetryCause::kCouldNotStart, RetryCause::kStale};
    for (const RetryCause cause : kAll) {
      if (rng.chance(400)) node.retry->on.push_back(cause);
    }
  }
  const bool any_code = node.retry->on.empty() || node.retry->on.front() == RetryCause::kFailed;
  if (any_code && node.retry->unless_exit.empty() && rng.chance(200)) node.retry->only_exit = {42};
}

}  // namespace

// Conditions, allowed failures, and which failures are retried.
void draw_seventh(Setup& setup, Rng rng) {
  for (RunDraft& draft : setup.drafts) {
    Rng own = rng.fork(static_cast<std::uint64_t>(&draft - setup.drafts.data()));
    const bool with_conditions = own.chance(500);
    for (std::size_t n = 0; n < draft.dag.nodes.size(); ++n) {
      NodeSpec& node = draft.dag.nodes[n];
      if (own.chance(100)) node.continue_on_error = true;
      draw_causes(node, own);
      if (with_conditions && own.chance(400)) node.condition = draw_condition(draft, n, own);
      // Where the rule lets more ways end in a condition.
      if (!node.condition.empty() && own.chance(400)) node.trigger = TriggerRule::kAllDone;
    }
  }
}

}  // namespace vortex::sim
