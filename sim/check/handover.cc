#include <map>
#include <set>
#include <utility>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 43: an attempt is handed over as it was granted: to its holder, with the definition and params of
// its run, its number and limits, and with the last checkpoint that earlier attempts made durable,
// whoever leads by now.
class HandedOver : public Checker {
 public:
  explicit HandedOver(const CheckerTools& tools) : Checker("43-handed-over", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      for (const TaskDataRow& row : commit->rows.task_data) note(row);
    } else if (const auto* given = std::get_if<WorkerGiven>(&fact)) {
      const Holder holder{given->worker, given->incarnation};
      for (const Assignment& one : given->assignments) check(picture, holder, one);
    }
  }

 private:
  struct Kept {
    std::string checkpoint;
    CheckpointRef uploaded;
  };

  void note(const TaskDataRow& row) {
    if (!row.checkpoint && !row.uploaded) return;
    std::map<Epoch, Kept>& kept = kept_[row.id];
    Kept now = kept.empty() ? Kept{} : kept.rbegin()->second;
    if (row.checkpoint) now.checkpoint = *row.checkpoint;
    if (row.uploaded) now.uploaded = *row.uploaded;
    kept[row.epoch] = now;
  }

  // The newest under an epoch before this one.
  Kept kept_before(const Attempt& attempt) const {
    const auto task = kept_.find(attempt.task);
    if (task == kept_.end()) return {};
    const auto later = task->second.lower_bound(attempt.epoch);
    return later == task->second.begin() ? Kept{} : std::prev(later)->second;
  }

  void check(const Picture& picture, const Holder& holder, const Assignment& given) {
    const Holder* granted = picture.granted_to(given.attempt);
    if (granted == nullptr || *granted != holder) {
      violated("{} was given to {}, who does not hold it", say(given.attempt), say(holder));
    }
    const Kept kept = kept_before(given.attempt);
    if (given.checkpoint != kept.checkpoint || given.uploaded != kept.uploaded) {
      violated("{} was handed over with checkpoint '{}'; the last one kept is '{}'",
               say(given.attempt), given.checkpoint, kept.checkpoint);
    }
    check_work(picture, given);
    check_limits(picture, given);
  }

  void check_work(const Picture& picture, const Assignment& given) {
    const RunRow* run = picture.runs().find(given.attempt.task.run);
    const auto* work = std::get_if<PlannedWork>(&given.work);
    if (run == nullptr || work == nullptr || !run->plan) return;
    const bool same_plan = work->plan && work->plan->digest == run->plan->digest &&
                           work->node == run->plan->node_of_task(given.attempt.task.index);
    const bool same_params =
        work->request && run->request && work->request->params == run->request->params;
    if (same_plan && same_params) return;
    violated("{} was handed over with another {}", say(given.attempt),
             same_plan ? "request" : "definition");
  }

  void check_limits(const Picture& picture, const Assignment& given) {
    const TaskRow* row = picture.tasks().find(given.attempt.task);
    const NodeSpec* spec = row != nullptr ? picture.spec_of(*row) : nullptr;
    if (spec == nullptr) return;
    const bool current = row->epoch == given.attempt.epoch && is_held(row->state);
    if (current && given.number != row->counters.attempts) {
      violated("{} was handed over as attempt {}, it is {}", say(given.attempt), given.number,
               row->counters.attempts);
    }
    const Duration limit = spec->execution_timeout.value_or(policy().execution_timeout);
    if (given.execution_timeout == limit && given.kill_grace == policy().kill_time) return;
    violated("{} was handed over with other limits", say(given.attempt));
  }

  std::map<TaskId, std::map<Epoch, Kept>> kept_;
};

// 44: what an attempt said is what is kept of it: the outputs of a success with the success itself,
// and checkpoints under the epoch of the attempt that made them.
class SaidIsKept : public Checker {
 public:
  explicit SaidIsKept(const CheckerTools& tools) : Checker("44-said-is-kept", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* said = std::get_if<WorkerSaid>(&fact)) {
      note(said->report);
    } else if (const auto* commit = std::get_if<Committed>(&fact)) {
      any_data(*commit);
      for (const auto& change : picture.attempts().changes()) check_outputs(*change.after);
    }
  }

 private:
  void note(const Report& report) {
    any_said_ = true;
    if (const auto* done = std::get_if<Completed>(&report.body)) {
      outputs_[report.attempt] = done->outputs;
    } else if (const auto* checkpoint = std::get_if<Checkpoint>(&report.body)) {
      checkpoints_[report.attempt].insert(checkpoint->data);
    }
  }

  void any_data(const Committed& commit) {
    kept_.clear();
    for (const TaskDataRow& row : commit.rows.task_data) {
      const Attempt attempt{row.id, row.epoch};
      if (row.outputs) kept_[attempt] = *row.outputs;
      if (!any_said_ || !row.checkpoint || row.checkpoint->empty()) continue;
      const auto said = checkpoints_.find(attempt);
      if (said != checkpoints_.end() && said->second.contains(*row.checkpoint)) continue;
      violated("checkpoint '{}' of {} was never made by it", *row.checkpoint, say(attempt));
    }
  }

  void check_outputs(const AttemptRow& end) {
    const auto kept = kept_.find(end.attempt);
    if (end.verdict != Verdict::kCompleted) {
      if (kept != kept_.end()) violated("{} did not succeed and has outputs", say(end.attempt));
      return;
    }
    const auto said = outputs_.find(end.attempt);
    if (said == outputs_.end() || said->second.empty()) return;
    if (kept != kept_.end() && kept->second == said->second) return;
    violated("{} succeeded with outputs '{}', and they are not in the same commit",
             say(end.attempt), said->second);
  }

  bool any_said_ = false;
  std::map<Attempt, std::string> outputs_;
  std::map<Attempt, std::set<std::string>> checkpoints_;
  std::map<Attempt, std::string> kept_;  // outputs in the commit being checked
};

}  // namespace

void add_handover_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<HandedOver>(tools));
  list.push_back(std::make_unique<SaidIsKept>(tools));
}

}  // namespace vortex::sim
