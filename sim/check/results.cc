#include <algorithm>
#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// What only the holder's own report can say.
bool is_result(Verdict verdict) { return verdict <= Verdict::kCouldNotStart; }

// 3: at most one accepted result per attempt, at most one accepted success per task.
class OneResult : public CommitChecker {
 public:
  explicit OneResult(const CheckerTools& tools) : CommitChecker("03-one-result", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.attempts().changes()) check_attempt(picture, change);
    for (const auto& change : picture.tasks().changes()) check_success(picture, change);
  }

 private:
  void check_attempt(const Picture& picture, const RowChange<AttemptRow>& change) {
    const Attempt& attempt = change.after->attempt;
    if (change.before || change.times > 1) {
      violated("{} ended more than once: {} and {}", say(attempt),
               to_text(change.before ? change.before->verdict : change.after->verdict),
               to_text(change.after->verdict));
    }
    if (change.after->verdict != Verdict::kCompleted) return;
    if (!succeeded_.insert(attempt.task).second) {
      violated("a second success of {} was accepted", say(attempt));
    }
    const TaskRow* task = picture.tasks().find(attempt.task);
    const bool done = task != nullptr && task->state == TaskState::kCompleted;
    if (!done || task->epoch != attempt.epoch) {
      violated("{} succeeded but its task is {}", say(attempt), task ? say(*task) : "not there");
    }
  }

  void check_success(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    if (task.state != TaskState::kCompleted) return;
    const NodeSpec* spec = picture.spec_of(task);
    if (spec != nullptr && (spec->wait || spec->child)) return;  // 58: there is nobody to report it
    if (!task.reused_from.empty()) return;                       // 76: it did not run
    const AttemptRow* row = picture.attempts().find({task.id, task.epoch});
    if (row == nullptr || row->verdict != Verdict::kCompleted) {
      violated("{} without an attempt that completed", say(task));
    }
  }

  std::set<TaskId> succeeded_;
};

// 4: nothing is accepted but from the holder of the last granted epoch.
class FencedResults : public CommitChecker {
 public:
  explicit FencedResults(const CheckerTools& tools) : CommitChecker("04-fenced-results", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    for (const AttemptRow& row : commit.rows.attempts) {
      is_result(row.verdict) ? check_result(picture, row) : check_taken_away(picture, row);
      check_was_current(picture, commit, row);
    }
    for (const TaskDataRow& row : commit.rows.task_data) check_data(picture, row);
  }

 private:
  // The grant must have been durable before it could be told, so before it could be answered.
  void check_result(const Picture& picture, const AttemptRow& row) {
    const TaskRow* before = picture.tasks().find_before(row.attempt.task);
    const Holder from{row.worker, row.incarnation};
    const bool fenced_in = before != nullptr && is_held(before->state) &&
                           before->epoch == row.attempt.epoch &&
                           Holder{before->worker, before->incarnation} == from;
    if (!fenced_in) {
      violated("result '{}' of {} accepted from {}, but the task was {}", to_text(row.verdict),
               say(row.attempt), say(from), before ? say(*before) : "not there");
    }
    if (row.verdict != Verdict::kCouldNotStart && picture.any_process_told()) {
      check_process_ended(picture, row);
    }
  }

  // What a result tells about must have happened: a result under a foreign epoch shows here.
  void check_process_ended(const Picture& picture, const AttemptRow& row) {
    const AttemptProcesses processes = picture.processes(row.attempt);
    if (processes.started > 0 && processes.live == 0) return;
    violated("result '{}' of {} accepted, but its process {}", to_text(row.verdict),
             say(row.attempt), processes.started == 0 ? "never started" : "still runs");
  }

  void check_taken_away(const Picture& picture, const AttemptRow& row) {
    const Holder* granted = picture.granted_to(row.attempt);
    const Holder from{row.worker, row.incarnation};
    if (granted == nullptr || *granted == from) return;
    violated("{} ended '{}' at {}, but it was granted to {}", say(row.attempt),
             to_text(row.verdict), say(from), say(*granted));
  }

  // A map that goes on makes what it had skipped wait again: the commit that takes an attempt away
  // may tell of that, and of the grant, as well.
  static bool goes_on(const Committed& commit, const TaskRow& before) {
    return before.state == TaskState::kSkipped &&
           std::ranges::any_of(commit.events, [&](const Event& event) {
             return event.kind == EventKind::kTaskClaimed && event.task == before.id;
           });
  }

  void check_was_current(const Picture& picture, const Committed& commit, const AttemptRow& row) {
    const TaskRow* before = picture.tasks().find_before(row.attempt.task);
    const TaskRow* after = picture.tasks().find(row.attempt.task);
    const Epoch epoch = row.attempt.epoch;
    if (before != nullptr &&
        (before->epoch > epoch ||
         (before->epoch == epoch && is_final(before->state) && !goes_on(commit, *before)))) {
      violated("{} ended '{}' after the task had become {}", say(row.attempt), to_text(row.verdict),
               say(*before));
    }
    if (after == nullptr || after->epoch < epoch ||
        (after->epoch == epoch && !is_final(after->state))) {
      violated("{} ended '{}' but the task is still {}", say(row.attempt), to_text(row.verdict),
               after ? say(*after) : "not there");
    }
  }

  void check_data(const Picture& picture, const TaskDataRow& row) {
    const TaskRow* before = picture.tasks().find_before(row.id);
    const TaskRow* after = picture.tasks().find(row.id);
    const bool stale = before != nullptr && row.epoch < before->epoch;
    if (!stale && after != nullptr && row.epoch <= after->epoch) return;
    violated("checkpoint or outputs of {} accepted, but the task was {}",
             say(Attempt{row.id, row.epoch}), before ? say(*before) : "not there");
  }
};

}  // namespace

void add_result_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OneResult>(tools));
  list.push_back(std::make_unique<FencedResults>(tools));
}

}  // namespace vortex::sim
