#include <set>
#include <utility>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

std::string say_needs(const RunNodes& nodes, std::uint32_t index) {
  const NodeStanding& node = nodes.node(index);
  return fmt::format("of {} needs {} ended: {} well, {} failed, {} skipped",
                     nodes.plan().nodes[index].needs.size(), node.needs_done, node.needs_ok,
                     node.needs_failed, node.needs_skipped);
}

// 9: at grant all needs are met as the trigger rule demands, the condition holds, and the levels
// below are done with a barrier.
// Once met, a node keeps its right to run: an operator's retry of one of its needs does not take
// it back.
class NeedsMet : public CommitChecker {
 public:
  explicit NeedsMet(const CheckerTools& tools) : CommitChecker("09-needs-met", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const TaskRow& task = *change.after;
      if (task.state == TaskState::kQueued || is_held(task.state)) check(picture, change);
    }
  }

 private:
  void check(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    const RunNodes* nodes = picture.nodes(task.id.run);
    if (nodes == nullptr || task.node >= nodes->plan().nodes.size()) return;
    const bool free = nodes->plan().node_spec(task.node).condition.empty();
    if (free && nodes->plan().nodes[task.node].level == 0) return;
    const std::pair<RunId, std::uint32_t> node{task.id.run, task.node};
    // What an operator reopened within this commit may have been met before.
    const RunRow& run = *picture.runs().find(task.id.run);
    const std::string fault =
        picture.revived_in(task.id.run) ? "" : fault_of(*nodes, task.node, run.ending);
    if (fault.empty()) {
      entitled_.insert(node);
    } else if (is_new_grant(change) && !entitled_.contains(node)) {
      violated("{} was granted, but {}", say(task), fault);
    }
  }

  static std::string fault_of(const RunNodes& nodes, std::uint32_t node, RunEnding ending) {
    if (!nodes.needs_met(node)) return say_needs(nodes, node);
    if (nodes.says(node) != ConditionSays::kYes) {
      return "its condition does not hold: " + nodes.plan().node_spec(node).condition;
    }
    const std::uint32_t level = nodes.plan().nodes[node].level;
    if (!nodes.plan().spec.barrier_levels || nodes.levels_below_done(level)) return "";
    // What a run that was stopped has not made never will be: 60 looks at what comes after it.
    if (nodes.plan().node_spec(node).finally && ending != RunEnding::kNone) return "";
    return fmt::format("levels below its level {} are open", level);
  }

  std::set<std::pair<RunId, std::uint32_t>> entitled_;
};

// 10: a task whose needs can no longer be met, or whose condition is false, ends skipped and is
// never queued; and no other does.
class HopelessIsSkipped : public CommitChecker {
 public:
  explicit HopelessIsSkipped(const CheckerTools& tools)
      : CommitChecker("10-hopeless-is-skipped", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const RunNodes* nodes = picture.nodes(change.after->id.run);
      if (nodes != nullptr && change.after->node < nodes->plan().nodes.size()) {
        check(picture, *nodes, change);
      }
    }
  }

 private:
  void check(const Picture& picture, const RunNodes& nodes, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    const bool waited = !change.before || change.before->state == TaskState::kWaiting;
    const bool in_play = task.state == TaskState::kQueued || is_held(task.state);
    const bool lost = nodes.needs_lost(task.node) ||
                      (nodes.needs_met(task.node) && nodes.says(task.node) == ConditionSays::kNo);
    if (waited && in_play && lost) {
      violated("{}, though it can never start: {}", say(task), say_needs(nodes, task.node));
    }
    const bool newly_skipped = task.state == TaskState::kSkipped &&
                               (!change.before || change.before->state != TaskState::kSkipped);
    if (newly_skipped && !lost && !was_stopped(picture, nodes, task)) {
      violated("{}, though it could start: {}", say(task), say_needs(nodes, task.node));
    }
  }

  // A commit gathers many steps: the stop of a map may be lifted by a re-drive in the very commit
  // in which one of its items was skipped. The item is taken back in a later one.
  static bool was_stopped(const Picture& picture, const RunNodes& nodes, const TaskRow& task) {
    if (nodes.map_stopped(task.node)) return true;
    const auto& map = nodes.plan().node_spec(task.node).map;
    if (!map || !map->max_failures) return false;
    std::uint32_t failed = nodes.node(task.node).failed;
    for (const auto& change : picture.tasks().changes()) {
      const bool same = change.after->id.run == task.id.run && change.after->node == task.node;
      const bool failed_before = change.before && change.before->state == TaskState::kFailed;
      if (same && failed_before && change.after->state != TaskState::kFailed) ++failed;
    }
    return failed > *map->max_failures;
  }
};

}  // namespace

void add_need_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<NeedsMet>(tools));
  list.push_back(std::make_unique<HopelessIsSkipped>(tools));
}

}  // namespace vortex::sim
