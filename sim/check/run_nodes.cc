#include "sim/check/run_nodes.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace vortex::sim {

namespace {

// Counts go down by adding this: unsigned numbers wrap around as wanted.
constexpr std::uint32_t kMinusOne = 0xFFFFFFFFU;

std::uint32_t failures_borne(const NodeSpec& spec) {
  return spec.map ? spec.map->max_failures.value_or(0) : 0;
}

}  // namespace

RunNodes::RunNodes(PlanPtr plan) : plan_(std::move(plan)) {
  nodes_.resize(plan_->nodes.size());
  level_open_.resize(plan_->levels);
  for (const PlanNode& node : plan_->nodes) ++level_open_[node.level];
  nodes_open_ = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) by_name_[plan_->node_spec(n).name] = n;
}

void RunNodes::note_outputs(std::uint32_t task_index, const std::string& outputs) {
  if (task_index >= plan_->base->tasks || !outputs.starts_with(R"({"v":)")) return;
  std::int64_t value = 0;
  std::from_chars(outputs.data() + 5, outputs.data() + outputs.size(), value);
  values_[plan_->node_of_task(task_index)] = value;
}

void RunNodes::note_run(const RunRow& run) {
  if (run.request && run.request->params == R"({"n":2})") param_ = 2;
  if (run.request && run.request->params == R"({"n":4})") param_ = 4;  // of a rerun
  const std::set<std::uint32_t> before =
      std::exchange(stopped_, std::set<std::uint32_t>(run.stopped.begin(), run.stopped.end()));
  for (std::size_t i = 0; i + 1 < run.late.size(); i += 2) {
    const bool failed = run.late[i + 1] == kLateFailed;
    if (late_.emplace(run.late[i], failed ? 1 : run.late[i + 1]).second) settle(run.late[i]);
  }
  for (const std::uint32_t node : before) settle(node);
  for (const std::uint32_t node : stopped_) settle(node);
  if (std::exchange(known_, true)) return;
  // What needs nothing and has no row may have been skipped by its condition all the same.
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    if (!plan_->node_spec(n).condition.empty()) settle(n);
  }
}

ConditionSays RunNodes::says(std::uint32_t index) const {
  const std::string& condition = plan_->node_spec(index).condition;
  if (condition.empty()) return ConditionSays::kYes;
  const auto end_of = [this](std::string_view task) {
    const auto at = by_name_.find(task);
    if (at == by_name_.end() || !nodes_[at->second].end) return NamedEnd::kOpen;
    switch (*nodes_[at->second].end) {
      case NodeEnd::kSuccess:
        return NamedEnd::kSucceeded;
      case NodeEnd::kFailed:
      case NodeEnd::kCancelled:
        return NamedEnd::kFailed;
      case NodeEnd::kSkipped:
        break;
    }
    return NamedEnd::kSkipped;
  };
  const auto value_of = [this](std::string_view task) -> std::optional<std::int64_t> {
    const auto at = by_name_.find(task);
    if (at == by_name_.end() || nodes_[at->second].completed == 0) return std::nullopt;
    const auto value = values_.find(at->second);
    return value == values_.end() ? std::nullopt : std::optional(value->second);
  };
  return read_drawn(condition, {end_of, value_of, param_});
}

bool RunNodes::fell_at_condition(std::uint32_t index) const {
  const NodeSpec& spec = plan_->node_spec(index);
  return spec.map && (!spec.condition.empty() || is_late(index)) && stopped_.contains(index) &&
         nodes_[index].failed > 0;
}

bool RunNodes::is_late(std::uint32_t index) const {
  const auto& map = plan_->node_spec(index).map;
  return map && std::holds_alternative<MapOver>(map->over);
}

std::optional<std::uint32_t> RunNodes::wanted(std::uint32_t index) const {
  if (!is_late(index)) return plan_->nodes[index].planned_tasks;
  const auto at = late_.find(index);
  return at == late_.end() ? std::nullopt : std::optional(at->second);
}

void RunNodes::count(const TaskRow* before, const TaskRow& after) {
  if (after.node >= nodes_.size()) return;
  if (before != nullptr && before->state == after.state) return;
  if (before != nullptr) {
    tally(*before, kMinusOne);
  } else {
    ++nodes_[after.node].made;
  }
  tally(after, 1);
  settle(after.node);
}

void RunNodes::tally(const TaskRow& row, std::uint32_t one) {
  NodeStanding& node = nodes_[row.node];
  if (!is_final(row.state)) tasks_open_ += one;
  switch (row.state) {
    case TaskState::kWaiting:
    case TaskState::kQueued:
      return;
    case TaskState::kScheduled:
    case TaskState::kRunning:
      node.held += one;
      return;
    case TaskState::kCompleted:
      node.completed += one;
      return;
    case TaskState::kFailed:
      node.failed += one;
      return;
    case TaskState::kCancelled:
      node.cancelled += one;
      return;
    case TaskState::kSkipped:
      node.skipped += one;
      return;
  }
}

bool RunNodes::map_stopped(std::uint32_t index) const {
  const auto& map = plan_->node_spec(index).map;
  if (fell_at_condition(index)) return true;
  return map && map->max_failures && nodes_[index].failed > *map->max_failures;
}

std::optional<NodeEnd> RunNodes::judge(std::uint32_t index) const {
  const NodeStanding& node = nodes_[index];
  if (node.made == 0) {
    if (wanted(index) == 0U) return NodeEnd::kSuccess;
    if (needs_lost(index)) return NodeEnd::kSkipped;
    if (needs_met(index) && says(index) == ConditionSays::kNo) return NodeEnd::kSkipped;
    return std::nullopt;
  }
  const bool all_made = node.made == wanted(index) || map_stopped(index);
  if (!all_made || node.finals() < node.made) return std::nullopt;
  const bool fell = fell_at_condition(index);
  if (fell || node.failed > failures_borne(plan_->node_spec(index))) return NodeEnd::kFailed;
  if (node.cancelled > 0) return NodeEnd::kCancelled;
  return node.skipped > 0 ? NodeEnd::kSkipped : NodeEnd::kSuccess;
}

// An end, or one taken back, can only end what has no rows yet; everything else has its own rows.
void RunNodes::settle(std::uint32_t first) {
  if (judge(first) == nodes_[first].end) return;
  std::vector<std::uint32_t> open{first};
  while (!open.empty()) {
    const std::uint32_t index = open.back();
    open.pop_back();
    const auto end = judge(index);
    if (end == nodes_[index].end) continue;
    set_end(index, end);
    for (const auto* later : {&plan_->nodes[index].needed_by, &plan_->nodes[index].readers}) {
      std::copy_if(later->begin(), later->end(), std::back_inserter(open),
                   [this](std::uint32_t n) { return nodes_[n].made == 0; });
    }
  }
}

void RunNodes::set_end(std::uint32_t index, std::optional<NodeEnd> end) {
  const std::optional<NodeEnd> old = std::exchange(nodes_[index].end, end);
  const std::uint32_t opened = (end ? 0U : 1U) - (old ? 0U : 1U);
  nodes_open_ += opened;
  level_open_[plan_->nodes[index].level] += opened;
  for (const std::uint32_t later : plan_->nodes[index].needed_by) {
    if (old) count_need(later, counted(index, *old), kMinusOne);
    if (end) count_need(later, counted(index, *end), 1);
  }
}

// An allowed failure is a success to those who need it.
NodeEnd RunNodes::counted(std::uint32_t index, NodeEnd end) const {
  const bool allowed = plan_->node_spec(index).continue_on_error;
  return allowed && end == NodeEnd::kFailed ? NodeEnd::kSuccess : end;
}

void RunNodes::count_need(std::uint32_t index, NodeEnd end, std::uint32_t one) {
  NodeStanding& node = nodes_[index];
  node.needs_done += one;
  if (end == NodeEnd::kSuccess) node.needs_ok += one;
  if (end == NodeEnd::kFailed || end == NodeEnd::kCancelled) node.needs_failed += one;
  if (end == NodeEnd::kSkipped) node.needs_skipped += one;
}

bool RunNodes::needs_met(std::uint32_t index) const {
  const NodeStanding& node = nodes_[index];
  const auto needs = static_cast<std::uint32_t>(plan_->nodes[index].needs.size());
  if (needs == 0) return true;
  const bool all_done = node.needs_done == needs;
  switch (plan_->node_spec(index).trigger) {
    case TriggerRule::kAllSuccess:
      return node.needs_ok == needs;
    case TriggerRule::kAllFailed:
      return node.needs_failed == needs;
    case TriggerRule::kAllDone:
      return all_done;
    case TriggerRule::kOneSuccess:
      return node.needs_ok > 0;
    case TriggerRule::kOneFailed:
      return node.needs_failed > 0;
    case TriggerRule::kNoneFailed:
      return all_done && node.needs_failed == 0;
    case TriggerRule::kNoneSkipped:
      return all_done && node.needs_skipped == 0;
  }
  return false;
}

bool RunNodes::needs_lost(std::uint32_t index) const {
  const NodeStanding& node = nodes_[index];
  const auto needs = static_cast<std::uint32_t>(plan_->nodes[index].needs.size());
  const bool all_done = node.needs_done == needs;
  if (needs == 0) return false;
  switch (plan_->node_spec(index).trigger) {
    case TriggerRule::kAllSuccess:
      return node.needs_done > node.needs_ok;
    case TriggerRule::kAllFailed:
      return node.needs_done > node.needs_failed;
    case TriggerRule::kAllDone:
      return false;
    case TriggerRule::kOneSuccess:
      return all_done && node.needs_ok == 0;
    case TriggerRule::kOneFailed:
      return all_done && node.needs_failed == 0;
    case TriggerRule::kNoneFailed:
      return node.needs_failed > 0;
    case TriggerRule::kNoneSkipped:
      return node.needs_skipped > 0;
  }
  return false;
}

bool RunNodes::levels_below_done(std::uint32_t level) const {
  return std::all_of(level_open_.begin(), level_open_.begin() + level,
                     [](std::uint32_t open) { return open == 0; });
}

}  // namespace vortex::sim
