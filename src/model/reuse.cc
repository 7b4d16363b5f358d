#include "model/reuse.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "model/condition.h"
#include "model/expression.h"
#include "model/value.h"

namespace vortex {
namespace {

enum class NodeEnd : std::uint8_t { kOther, kCompleted, kSkipped };

NodeEnd end_of(const DagPlan& plan, std::uint32_t node, const TaskStates& states) {
  if (!plan.is_counted(node)) return NodeEnd::kOther;
  const LaidOut* late = plan.laid_out(node);
  if (late != nullptr && late->failed) return NodeEnd::kOther;
  const std::uint32_t first = plan.first_task(node);
  const std::uint32_t tasks = plan.tasks_of(node);
  std::uint32_t completed = 0;
  std::uint32_t skipped = 0;
  for (std::uint32_t i = 0; i < tasks && first + i < states.size(); ++i) {
    if (states[first + i] == TaskState::kCompleted) ++completed;
    if (states[first + i] == TaskState::kSkipped) ++skipped;
  }
  if (completed == tasks) return NodeEnd::kCompleted;
  // A map stops at failures; a single task is skipped by its needs or its condition.
  return skipped == tasks && !plan.node_spec(node).map ? NodeEnd::kSkipped : NodeEnd::kOther;
}

// What the expressions of a node read that is not the result of another node.
struct Reads {
  std::set<Steps> params;
  bool slot = false;
};

void note(const Path& path, Reads& reads) {
  if (path.root == PathRoot::kRunSlot || path.root == PathRoot::kRunSlotEnd) reads.slot = true;
  if (path.root != PathRoot::kParam) return;
  Steps steps{path.name};
  steps.insert(steps.end(), path.steps.begin(), path.steps.end());
  reads.params.insert(std::move(steps));
}

void note_text(const std::string& text, Reads& reads) {
  if (!has_expression_mark(text)) return;
  const auto parsed = parse_template(text);
  if (!parsed) return;
  for (const Path* path : references(*parsed)) note(*path, reads);
}

Reads reads_of_node(const NodeSpec& spec) {
  Reads reads;
  for (const std::string& text : spec.command.argv) note_text(text, reads);
  for (const auto& [name, text] : spec.command.env) note_text(text, reads);
  note_text(spec.command.workdir, reads);
  for (const std::string& text : spec.inputs) note_text(text, reads);
  if (!spec.condition.empty()) {
    if (auto condition = parse_condition(spec.condition)) {
      for (const Condition* part : reads_of(*condition)) {
        if (part->kind == Condition::Kind::kPath) note(part->path, reads);
      }
    }
  }
  const auto* over = spec.map ? std::get_if<MapOver>(&spec.map->over) : nullptr;
  if (over != nullptr) {
    if (const auto path = path_of_map(over->text)) note(*path, reads);
  }
  return reads;
}

// Which of the params that are read have another value now.
class ChangedParams {
 public:
  ChangedParams(const std::set<Steps>& wanted, std::string_view now, std::string_view before) {
    if (now == before) return;
    std::vector<const Steps*> paths;
    for (const Steps& steps : wanted) paths.push_back(&steps);
    const auto is = pick_values(now.empty() ? "{}" : now, paths, now.size() + 2);
    const auto was = pick_values(before.empty() ? "{}" : before, paths, before.size() + 2);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!is || !was || !((*is)[i] == (*was)[i])) changed_.insert(*paths[i]);
    }
  }

  bool any_of(const Reads& reads) const {
    return std::ranges::any_of(reads.params,
                               [this](const Steps& steps) { return changed_.contains(steps); });
  }

 private:
  std::set<Steps> changed_;
};

class Matcher {
 public:
  Matcher(const RunFacts& now, const RunFacts& earlier, const TaskStates& states,
          const std::vector<std::uint32_t>& again)
      : now_(now), earlier_(earlier), states_(states), again_(again.begin(), again.end()) {
    const DagPlan& before = *earlier.plan;
    for (std::uint32_t node = 0; node < before.nodes.size(); ++node) {
      by_name_.emplace(before.node_spec(node).name, node);
    }
  }

  std::vector<KeptMatch> run() {
    const DagPlan& plan = *now_.plan;
    std::set<Steps> wanted;
    for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
      reads_.push_back(reads_of_node(plan.node_spec(node)));
      wanted.insert(reads_.back().params.begin(), reads_.back().params.end());
    }
    const ChangedParams changed(wanted, now_.params, earlier_.params);
    as_before_.assign(plan.nodes.size(), false);
    std::vector<KeptMatch> kept;
    bool lower_levels = true;
    for (const auto& level : plan.nodes_by_level) {
      bool whole = true;
      for (const std::uint32_t node : level) {
        // A level that is not open yet lets nothing start, so nothing is kept there either.
        const bool open = lower_levels || !plan.spec.barrier_levels;
        if (open && is_as_before(node, changed)) {
          as_before_[node] = true;
          add_kept(node, kept);
        }
        whole = whole && as_before_[node];
      }
      lower_levels = lower_levels && whole;
    }
    std::ranges::sort(kept, {}, &KeptMatch::node);
    return kept;
  }

 private:
  bool is_as_before(std::uint32_t node, const ChangedParams& changed) const {
    const DagPlan& plan = *now_.plan;
    const NodeSpec& spec = plan.node_spec(node);
    const auto found = by_name_.find(spec.name);
    // A sub-DAG may have been changed, and its params are no matter of the task alone.
    if (spec.finally || spec.child) return false;
    if (again_.contains(node) || found == by_name_.end()) return false;
    const DagPlan& before = *earlier_.plan;
    if (digest_of(before.node_spec(found->second)) != digest_of(spec)) return false;
    const auto& needs = plan.nodes[node].needs;
    const bool same_needs =
        std::ranges::all_of(needs, [this](std::uint32_t need) { return as_before_[need]; });
    if (!same_needs) return false;
    const bool same_slot = now_.slot == earlier_.slot && now_.slot_end == earlier_.slot_end;
    if (changed.any_of(reads_[node]) || (reads_[node].slot && !same_slot)) return false;
    // Who approved it saw that DAG with those params.
    const bool asks = spec.wait && spec.wait->kind == WaitKind::kApproval;
    if (asks && (plan.digest != before.digest || now_.params != earlier_.params)) return false;
    return end_of(before, found->second, states_) != NodeEnd::kOther;
  }

  void add_kept(std::uint32_t node, std::vector<KeptMatch>& kept) const {
    const std::uint32_t earlier = by_name_.find(now_.plan->node_spec(node).name)->second;
    const bool completed = end_of(*earlier_.plan, earlier, states_) == NodeEnd::kCompleted;
    if (completed && earlier_.plan->tasks_of(earlier) > 0) kept.push_back({node, earlier});
  }

  const RunFacts& now_;
  const RunFacts& earlier_;
  const TaskStates& states_;
  std::set<std::uint32_t> again_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::vector<Reads> reads_;  // by node
  std::vector<bool> as_before_;
};

}  // namespace

std::vector<KeptMatch> match_kept(const RunFacts& now, const RunFacts& earlier,
                                  const TaskStates& states,
                                  const std::vector<std::uint32_t>& again) {
  return Matcher(now, earlier, states, again).run();
}

}  // namespace vortex
