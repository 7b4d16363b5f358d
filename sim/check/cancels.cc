#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 24: after an accepted cancel no success is accepted and nothing of that run starts, not even
// what is taken from a lost worker. A run that timed out starts nothing either. The tasks of
// `finally` are the exception: they run then, until they are stopped themselves.
class CancelHolds : public CommitChecker {
 public:
  explicit CancelHolds(const CheckerTools& tools) : CommitChecker("24-cancel-holds", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const RunId run = change.after->id.run;
      const RunRow* before = picture.runs().find_before(run);
      const NodeSpec* spec = picture.spec_of(*change.after);
      if (before == nullptr || spec == nullptr) continue;
      const RunEnding ending = ending_for(*before, *spec);
      if (ending == RunEnding::kNone) continue;
      // An operator may have brought it back to life.
      if (ending_for(*picture.runs().find(run), *spec) == RunEnding::kNone) continue;
      check(ending, change);
    }
  }

 private:
  static RunEnding ending_for(const RunRow& run, const NodeSpec& spec) {
    return spec.finally ? run.finally_ending : run.ending;
  }

  void check(RunEnding ending, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    if (is_new_grant(change)) violated("{} was granted after its run was ended", say(task));
    const bool was_held = change.before && is_held(change.before->state);
    if (was_held && task.state == TaskState::kQueued) {
      violated("{} was queued again after its run was ended", say(task));
    }
    const bool was_done = change.before && change.before->state == TaskState::kCompleted;
    if (ending == RunEnding::kCancelled && task.state == TaskState::kCompleted && !was_done) {
      violated("{} was accepted after its run was cancelled", say(task));
    }
  }
};

}  // namespace

void add_cancel_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<CancelHolds>(tools));
}

}  // namespace vortex::sim
