#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 11: final is final, for tasks and runs; only an operator's act, which is logged, goes back.
class FinalIsFinal : public CommitChecker {
 public:
  explicit FinalIsFinal(const CheckerTools& tools) : CommitChecker("11-final-is-final", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      if (change.before && is_final(change.before->state)) check_task(picture, change);
      check_run_open(picture, *change.after);
    }
    for (const auto& change : picture.runs().changes()) {
      if (picture.revived_in(change.after->id)) ever_revived_.insert(change.after->id);
      check_run(picture, change);
    }
  }

 private:
  void check_task(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& before = *change.before;
    const TaskRow& after = *change.after;
    const bool same = before.state == after.state && before.epoch == after.epoch &&
                      before.counters == after.counters;
    if (same || picture.acted_on(after.id)) return;
    if (before.state == TaskState::kSkipped && may_come_back(picture, after)) return;
    violated("{} was final and became {}", say(before), say(after));
  }

  // What was skipped because of a failed task comes back with it; items of a stopped map in slices,
  // so in later commits too.
  bool may_come_back(const Picture& picture, const TaskRow& task) const {
    if (picture.revived_in(task.id.run)) return true;
    const NodeSpec* spec = picture.spec_of(task);
    return spec != nullptr && spec->map && ever_revived_.contains(task.id.run);
  }

  void check_run_open(const Picture& picture, const TaskRow& task) {
    if (is_final(task.state)) return;
    const RunRow* run = picture.runs().find(task.id.run);
    if (run == nullptr || run->state == RunState::kRunning) return;
    violated("{} although its run is {}", say(task), to_text(run->state));
  }

  void check_run(const Picture& picture, const RowChange<RunRow>& change) {
    const RunRow& after = *change.after;
    const bool was_final = change.before && change.before->state != RunState::kRunning;
    if (was_final && change.before->state != after.state && !picture.revived_in(after.id)) {
      violated("run {} was {} and became {}", to_text(after.id), to_text(change.before->state),
               to_text(after.state));
    }
    const RunNodes* nodes = picture.nodes(after.id);
    if (after.state == RunState::kRunning || nodes == nullptr || nodes->tasks_open() == 0) return;
    violated("run {} became {} with {} tasks still open", to_text(after.id), to_text(after.state),
             nodes->tasks_open());
  }

  std::set<RunId> ever_revived_;
};

int rank(TaskState state) {
  return is_final(state) ? static_cast<int>(TaskState::kCompleted) : static_cast<int>(state);
}

// Only what the worker reports leads here (but for what only waits), and it was told of the grant
// after its commit.
bool needs_committed_grant(TaskState state) {
  return state == TaskState::kRunning || state == TaskState::kCompleted;
}

bool may_leave_final(const TaskRow& before, const TaskRow& after) {
  if (before.state == TaskState::kFailed) return after.epoch > before.epoch;
  return before.state == TaskState::kSkipped;
}

// Why the drawing of a task's life has no such way; null: it has. Steps within one commit merge, so
// it is a way along the edges, not one edge, and a new epoch means it went back to Queued.
const char* edge_fault(const TaskRow* before, const TaskRow& after, const NodeSpec& spec) {
  const bool same_epoch = before != nullptr && before->epoch == after.epoch;
  if (before != nullptr && is_final(before->state)) {
    if (before->state == after.state && same_epoch) return nullptr;
    if (!may_leave_final(*before, after)) return "there is no way out of that end";
  }
  const bool was_held = same_epoch && is_held(before->state);
  const bool unheld = spec.wait || spec.child;
  if (unheld && is_held(after.state)) return "it only waits, and was given to a worker";
  const bool needs_none = unheld || !after.reused_from.empty();
  if (!needs_none && needs_committed_grant(after.state) && !was_held) {
    return "its grant was not committed before";
  }
  const bool waited = before == nullptr || before->state == TaskState::kWaiting;
  if (after.state == TaskState::kSkipped && !waited && !spec.map) return "it had been queued";
  if (before == nullptr || is_final(before->state)) return nullptr;
  if (same_epoch && rank(after.state) < rank(before->state)) return "back without a new epoch";
  if (after.epoch > before->epoch && after.state == TaskState::kWaiting) {
    return "what was taken away waits for no needs";
  }
  return nullptr;
}

// 12: only edges of the drawing in core/transitions.h.
class OnlyDrawnEdges : public CommitChecker {
 public:
  explicit OnlyDrawnEdges(const CheckerTools& tools)
      : CommitChecker("12-only-drawn-edges", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const NodeSpec* spec = picture.spec_of(*change.after);
      if (spec == nullptr) {
        violated("{} belongs to no known run or node", say(*change.after));
        continue;
      }
      const char* fault = edge_fault(change.was(), *change.after, *spec);
      if (fault == nullptr) continue;
      violated("{}, then {}: {}", change.before ? say(*change.before) : "not there",
               say(*change.after), fault);
    }
  }
};

}  // namespace

void add_edge_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<FinalIsFinal>(tools));
  list.push_back(std::make_unique<OnlyDrawnEdges>(tools));
}

}  // namespace vortex::sim
