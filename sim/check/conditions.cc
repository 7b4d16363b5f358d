#include <algorithm>
#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 50: what a condition says is done. Who is skipped for it has one that is false; who dies of it
// has one that has no value; and when a run has ended by itself, nobody has slipped through.
class ConditionsDecide : public CommitChecker {
 public:
  explicit ConditionsDecide(const CheckerTools& tools)
      : CommitChecker("50-conditions-decide", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const TaskId task : picture.acts()) acted_in_.insert(task.run);
    for (const auto& change : picture.tasks().changes()) check_skip(picture, change);
    for (const auto& change : picture.dead_letters().changes()) check_death(picture, *change.after);
    for (const auto& change : picture.runs().changes()) {
      if (change.after->state != RunState::kRunning) check_end(picture, *change.after);
    }
  }

 private:
  void check_skip(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    const bool newly = !change.before || change.before->state != TaskState::kSkipped;
    const RunNodes* nodes = picture.nodes(task.id.run);
    if (nodes == nullptr || task.state != TaskState::kSkipped || !newly) return;
    if (!task.error_message.starts_with("its condition")) return;
    if (nodes->says(task.node) == ConditionSays::kNo) return;
    violated("{} says '{}', which is not so", say(task), task.error_message);
  }

  void check_death(const Picture& picture, const DeadLetterRow& letter) {
    if (letter.reason != DeathReason::kConditionError) return;
    const TaskId id = letter.attempt.task;
    const TaskRow* task = picture.tasks().find(id);
    const RunNodes* nodes = picture.nodes(id.run);
    if (task == nullptr || nodes == nullptr || picture.revived_in(id.run)) return;
    if (letter.state != DeadLetterState::kOpen) return;
    if (nodes->says(task->node) == ConditionSays::kUnclear) return;
    violated("{} failed because of its condition, which has a value", say(*task));
  }

  void check_end(const Picture& picture, const RunRow& run) {
    const RunNodes* nodes = picture.nodes(run.id);
    if (nodes == nullptr || run.ending != RunEnding::kNone || acted_in_.contains(run.id)) return;
    if (run.finally_ending != RunEnding::kNone) return;
    for (std::uint32_t n = 0; n < nodes->plan().nodes.size(); ++n) {
      const auto& end = nodes->node(n).end;
      if (nodes->plan().node_spec(n).condition.empty() || end == NodeEnd::kCancelled) continue;
      if (!nodes->needs_met(n)) continue;
      const ConditionSays says = nodes->says(n);
      const bool skipped = end == NodeEnd::kSkipped && nodes->node(n).completed == 0;
      const bool fine = says == ConditionSays::kNo        ? skipped
                        : says == ConditionSays::kUnclear ? end == NodeEnd::kFailed
                                                          : !skipped;
      if (fine) continue;
      violated("node '{}' of run {} was {}, against its condition {}",
               nodes->plan().node_spec(n).name, to_text(run.id),
               skipped ? "skipped" : "not skipped", nodes->plan().node_spec(n).condition);
    }
  }

  std::set<RunId> acted_in_;
};

// 51: a failure whose cause or exit code is not to be retried is the last of its task.
class OnlyNamedCauses : public CommitChecker {
 public:
  explicit OnlyNamedCauses(const CheckerTools& tools)
      : CommitChecker("51-only-named-causes", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.attempts().changes()) {
      const AttemptRow& end = *change.after;
      const TaskRow* task = picture.tasks().find(end.attempt.task);
      const NodeSpec* spec = task == nullptr ? nullptr : picture.spec_of(*task);
      if (spec == nullptr || !spec->retry || may_retry(*spec->retry, end)) continue;
      if (picture.dead_letters().find(end.attempt) != nullptr) continue;
      violated("{} ended as {} (code {}), which is not to be retried, and went on",
               say(end.attempt), to_text(end.verdict), end.code);
    }
  }

 private:
  static bool names(const RetryPolicy& retry, RetryCause cause) {
    return retry.on.empty() || std::ranges::find(retry.on, cause) != retry.on.end();
  }

  static bool may_retry(const RetryPolicy& retry, const AttemptRow& end) {
    switch (end.verdict) {
      case Verdict::kExitCode:
        return names(retry, RetryCause::kFailed) &&
               (retry.only_exit.empty() ||
                std::ranges::find(retry.only_exit, end.code) != retry.only_exit.end());
      case Verdict::kSignal:
        return names(retry, RetryCause::kSignal);
      case Verdict::kOutOfMemory:
        return names(retry, RetryCause::kOutOfMemory);
      case Verdict::kCouldNotStart:
        return names(retry, RetryCause::kCouldNotStart);
      case Verdict::kExecutionTimeout:
        return names(retry, RetryCause::kTimedOut);
      case Verdict::kStale:
        return names(retry, RetryCause::kStale);
      default:
        return true;
    }
  }
};

}  // namespace

void add_condition_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<ConditionsDecide>(tools));
  list.push_back(std::make_unique<OnlyNamedCauses>(tools));
}

}  // namespace vortex::sim
