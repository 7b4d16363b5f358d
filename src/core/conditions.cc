#include <string>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "model/check.h"
#include "model/condition.h"
#include "model/value.h"

namespace vortex::core {
namespace {

TaskEnd end_of(const Run& run, std::uint32_t node) {
  switch (run.nodes[node].outcome) {
    case NodeOutcome::kSuccess:
      return TaskEnd::kSucceeded;
    case NodeOutcome::kFailed:
    case NodeOutcome::kCancelled:
      return TaskEnd::kFailed;
    case NodeOutcome::kSkipped:
      break;
  }
  return TaskEnd::kSkipped;
}

ConditionFacts facts_of(const Run& run) {
  const std::string result(to_text(result_of(run)));
  return {run.reads, [&run](std::uint32_t node) { return end_of(run, node); },
          ReadValue({Value::Kind::kText, result})};
}

struct Wanted {
  std::uint32_t first = 0;  // of DagPlan::reads
  std::uint32_t reads = 0;
};

// A text that cannot be read leaves its values missing: conditions that need them say so.
void keep_values(State& state, Run& run, Wanted wanted, std::string_view values_text) {
  if (wanted.reads == 0 || values_text.empty()) return;
  std::vector<const Steps*> paths;
  paths.reserve(wanted.reads);
  for (std::uint32_t i = 0; i < wanted.reads; ++i) {
    paths.push_back(&run.plan->reads[wanted.first + i].steps);
  }
  auto values = pick_values(values_text, paths);
  if (!values) return;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < wanted.reads; ++i) {
    run.reads[wanted.first + i] = ReadValue(std::move((*values)[i]));
    bytes += run.reads[wanted.first + i].bytes();
  }
  book_reads(state, run, bytes);
}

bool is_ready_to_decide(const Run& run, const NodeCondition& condition) {
  for (const std::uint32_t node : condition.nodes) {
    if (run.nodes[node].phase != NodePhase::kDone) return false;
  }
  return true;
}

std::string joined_facts(const Run& run, const NodeCondition& condition) {
  std::string out;
  for (const std::string& fact : describe(condition.condition, facts_of(run))) {
    out += (out.empty() ? "" : ", ") + fact;
  }
  return out;
}

}  // namespace

void read_params(State& state, Run& run) {
  if (!run.request) return;
  keep_values(state, run, {0, run.plan->param_reads}, run.request->params);
  read_lists(state, run, {0, run.plan->param_lists}, run.request->params);
  read_passed(state, run, {0, run.plan->base->param_passes}, run.request->params);
}

void read_outputs(State& state, Run& run, std::uint32_t node, std::string_view outputs) {
  const PlanNode& plan = run.plan->nodes[node];
  keep_values(state, run, {plan.first_read, plan.reads}, outputs);
  read_lists(state, run, plan.lists, outputs);
  read_passed(state, run, plan.passes, outputs);
}

RuleSays judge_node(const Run& run, std::uint32_t index) {
  const PlanNode& plan = run.plan->nodes[index];
  const RuleSays rule = judge_rule(run.plan->node_spec(index).trigger,
                                   static_cast<std::uint32_t>(plan.needs.size()), run.nodes[index]);
  if (rule != RuleSays::kStart) return rule;
  if (!plan.condition || planted(PlantedBug::kConditionIgnored)) return judge_map(run, index);
  if (!is_ready_to_decide(run, *plan.condition)) return RuleSays::kWait;
  const auto yes = decide(plan.condition->condition, facts_of(run));
  if (!yes) return RuleSays::kFail;
  return *yes ? judge_map(run, index) : RuleSays::kSkip;
}

std::string why_condition(const Run& run, std::uint32_t index) {
  const PlanNode& plan = run.plan->nodes[index];
  if (!plan.condition || !is_ready_to_decide(run, *plan.condition)) return {};
  const std::string text = in_quotes(run.plan->node_spec(index).condition);
  const auto yes = decide(plan.condition->condition, facts_of(run));
  if (!yes) return "cannot evaluate the condition " + text + ": " + yes.error();
  if (*yes) return {};
  const std::string facts = joined_facts(run, *plan.condition);
  return "its condition " + text + " is false" + (facts.empty() ? "" : ": " + facts);
}

std::vector<std::string> condition_waits_for(const Run& run, std::uint32_t index) {
  const PlanNode& plan = run.plan->nodes[index];
  std::vector<std::string> out;
  if (!plan.condition) return out;
  for (const std::uint32_t node : plan.condition->nodes) {
    if (run.nodes[node].phase == NodePhase::kDone) continue;
    out.push_back("its condition refers to '" + run.plan->node_spec(node).name +
                  "', which has not ended");
  }
  return out;
}

}  // namespace vortex::core
