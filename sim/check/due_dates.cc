#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"
#include "sim/model/due.h"
#include "sim/model/leader_time.h"
#include "sim/model/told.h"

namespace vortex::sim {

namespace {

// When something was last seen to move in an attempt: its step, its percentage or a checkpoint.
class Movement {
 public:
  // When exactly a checkpoint was taken no row tells: the caller says from which side it is met.
  void committed(const Picture& picture, const Committed& commit, Instant checkpoints_at) {
    for (const auto& change : picture.tasks().changes()) {
      const TaskRow& row = *change.after;
      const bool same = change.before && change.before->epoch == row.epoch &&
                        change.before->percent == row.percent && change.before->step == row.step;
      if (!same) moved_[row.id] = row.updated_at;
    }
    for (const TaskDataRow& row : commit.rows.task_data) {
      if (row.checkpoint || row.uploaded) moved_[row.id] = std::max(moved_[row.id], checkpoints_at);
    }
  }
  // Progress counts only where the task says so.
  Instant last(const TaskRow& row, const NodeSpec& spec) const {
    const auto found = moved_.find(row.id);
    if (found == moved_.end() || !spec.stale_counts.progress) return row.started_at;
    return std::max(found->second, row.started_at);
  }

 private:
  std::map<TaskId, Instant> moved_;
};

// 40: nothing happens before it is due: no try before its backoff is over, no stop for a timeout
// and no end of a run before its time. A new leader counts from its beginning what only the memory
// of the earlier one knew.
class NotBeforeDue : public Checker {
 public:
  explicit NotBeforeDue(const CheckerTools& tools) : Checker("40-not-before-due", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (latest_.begins(fact)) began_ = std::get<TermBegan>(fact).term_now;
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    for (const Event& event : commit->events) {
      if (event.kind == EventKind::kTaskClaimed && event.task) check_claim(picture, event);
      if (event.kind == EventKind::kRunCancelRequested && event.run) check_run(picture, event);
      if (event.kind == EventKind::kFinallyStarted && event.run) finally_[*event.run] = event.at;
      note_revived(picture, event);
      told_.take(event);
    }
    for (const auto& change : picture.tasks().changes()) {
      check_stop(picture, change);
      if (change.after->state == TaskState::kSkipped) skipped_.insert(change.after->id);
    }
    // Not before the commit ahead of this one, at the earliest.
    movement_.committed(picture, *commit, last_commit_);
    last_commit_ = commit->term_now;
  }

 private:
  void too_soon(const TaskRow& task, std::string_view what, Duration after, Duration due) {
    if (after >= due) return;
    violated("{} {} after {}; due after {}", say(task), what, say(after), say(due));
  }

  void check_claim(const Picture& picture, const Event& event) {
    const ToldTask* told = told_.task(*event.task);
    if (told == nullptr || told->previous.empty()) return;
    if (skipped_.erase(*event.task) > 0 || went_on(picture, *event.task)) return;
    const TaskRow* before = picture.tasks().find_before(*event.task);
    if (before != nullptr && before->epoch == told->epoch && event.at < before->ready_at) {
      violated("{} was handed out at {}, before {}", say(*event.task), say(event.at),
               say(before->ready_at));
    }
    const TaskRow* after = picture.tasks().find(*event.task);
    const AttemptRow* end = picture.attempts().find({*event.task, {told->epoch.value - 1}});
    const NodeSpec* spec = after != nullptr ? picture.spec_of(*after) : nullptr;
    // The counters are those of this wait only while no later attempt has ended.
    if (spec == nullptr || end == nullptr || after->epoch != told->epoch) return;
    if (is_final(after->state) || told->requeued_at < began_) return;
    too_soon(*after, "was handed out again", event.at - told->requeued_at,
             least_wait(*end, *after, *spec, policy()));
  }

  // A map that stopped skips what waits. Whoever makes it go on wants that now: no wait is left.
  // Rows do not tell when both happen in one commit, but the retry or re-drive is in the log.
  void note_revived(const Picture& picture, const Event& event) {
    if (event.kind != EventKind::kTaskRetry && event.kind != EventKind::kTaskRedriven) return;
    const TaskRow* row = event.task ? picture.tasks().find(*event.task) : nullptr;
    if (row != nullptr) revived_[{row->id.run, row->node}] = event.at;
  }

  bool went_on(const Picture& picture, TaskId task) const {
    const TaskRow* row = picture.tasks().find(task);
    const NodeSpec* spec = row != nullptr ? picture.spec_of(*row) : nullptr;
    if (spec == nullptr || !spec->map || !spec->map->max_failures) return false;
    const auto found = revived_.find({task.run, row->node});
    return found != revived_.end() && found->second >= told_.task(task)->requeued_at;
  }

  void check_run(const Picture& picture, const Event& event) {
    if (text_in(event, "reason") == "cancel") return;
    const RunRow* run = picture.runs().find(*event.run);
    if (run == nullptr || !run->plan) return;
    if (text_in(event, "reason") == "finally timeout") return check_finally(*run, event);
    const auto limit = limit_of(picture, *run);
    if (ended_above(picture, *run)) return;
    if (limit && event.at - run->created_at >= *limit) return;
    violated("run {} was ended by its timeout {} after it began", to_text(run->id),
             say(event.at - run->created_at));
  }

  static const TaskRow* parent_of(const Picture& picture, const RunRow& run) {
    if (!run.request || run.request->parent.value == 0) return nullptr;
    return picture.tasks().find({run.request->parent, run.request->parent_index});
  }

  // Of a child the time limit of its task counts as well.
  static std::optional<Duration> limit_of(const Picture& picture, const RunRow& run) {
    const std::optional<Duration> own = run.plan->spec.run_timeout;
    const TaskRow* task = parent_of(picture, run);
    const NodeSpec* spec = task == nullptr ? nullptr : picture.spec_of(*task);
    if (spec == nullptr || !spec->execution_timeout) return own;
    return own ? std::min(*own, *spec->execution_timeout) : *spec->execution_timeout;
  }

  // The time of a run above was up.
  static bool ended_above(const Picture& picture, const RunRow& run) {
    for (const TaskRow* task = parent_of(picture, run); task != nullptr;) {
      const RunRow* above = picture.runs().find(task->id.run);
      if (above == nullptr) return false;
      const auto timed_out = RunEnding::kTimedOut;
      if (above->ending == timed_out || above->finally_ending == timed_out) return true;
      task = parent_of(picture, *above);
    }
    return false;
  }

  void check_finally(const RunRow& run, const Event& event) {
    const Duration limit = run.plan->spec.finally_timeout.value_or(hours(1));
    const auto began = finally_.find(run.id);
    if (began != finally_.end() && event.at - began->second >= limit) return;
    violated("the finally tasks of run {} were stopped by their timeout before it was up",
             to_text(run.id));
  }

  void check_stop(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& row = *change.after;
    const bool was = change.before && change.before->epoch == row.epoch &&
                     change.before->stop != StopReason::kNone;
    const NodeSpec* spec = picture.spec_of(row);
    if (!is_held(row.state) || was || spec == nullptr) return;
    if (row.stop == StopReason::kNotStarted) {
      too_soon(row, "was asked back", row.updated_at - row.granted_at + policy().sweep,
               start_limit(*spec, policy()));
    } else if (row.stop == StopReason::kExecutionTimeout) {
      too_soon(row, "was stopped by its timeout", row.updated_at - row.started_at,
               step_in_limit(*spec, policy()));
    } else if (row.stop == StopReason::kStale) {
      const Instant moved = std::max(began_, movement_.last(row, *spec));
      // When it moved is known to a commit.
      too_soon(row, "was called stale", row.updated_at - moved + policy().sweep,
               stale_limit(*spec, policy()));
      if (watched(row, *spec, policy()) == Watched::kNo) {
        violated("{} is stale and not watched", say(row));
      }
    }
  }

  LatestTerm latest_;
  Instant began_;
  Instant last_commit_;
  std::set<TaskId> skipped_;
  std::map<RunId, Instant> finally_;                            // when these tasks of a run began
  std::map<std::pair<RunId, std::uint32_t>, Instant> revived_;  // run and node: when last
  Told told_;
  Movement movement_;
};

// 41: what is due is done: a timeout of a task or a run, a lease that nobody renewed. The leader
// has as much time as it was really there, and half a lease for whatever else it has to do: a new
// one, or one whose store was slow, has a lot of it.
class DueIsDone : public Checker {
 public:
  explicit DueIsDone(const CheckerTools& tools)
      : Checker("41-due-is-done", tools), time_(policy().sweep) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    time_.fact(fact);
    if (const auto* outage = std::get_if<OutageEnded>(&fact)) outage_ = outage->term_now;
    if (latest_.begins(fact)) outage_ = {};
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    note_open(picture);
    movement_.committed(picture, *commit, commit->term_now);
    if (commit->term != time_.term()) return;
    for (const TaskId id : held_) check_task(picture, *commit, *picture.tasks().find(id));
    for (const RunId id : runs_) check_run(*commit, *picture.runs().find(id));
    for (const auto& key : leases_) check_lease(*commit, *picture.leases().find(key));
  }

 private:
  void note_open(const Picture& picture) {
    for (const auto& change : picture.tasks().changes()) {
      const TaskRow& row = *change.after;
      note(held_, row.id, is_held(row.state) && row.stop == StopReason::kNone);
    }
    for (const auto& change : picture.runs().changes()) {
      const RunRow& row = *change.after;
      const bool open = row.state == RunState::kRunning && row.ending == RunEnding::kNone &&
                        row.finally_ending == RunEnding::kNone;
      note(runs_, row.id, open && row.timeout_at != kNever);
    }
    for (const auto& change : picture.leases().changes()) {
      note(leases_, change.after->partition, !change.after->holder.empty());
    }
  }

  template <class Key>
  static void note(std::set<Key>& open, const Key& key, bool is) {
    if (is) open.insert(key);
    if (!is) open.erase(key);
  }

  bool is_late(Instant since, Instant now, Duration due) const {
    const Duration grace = policy().worker_lease / 2;
    return now > since && time_.between(since, now) > due + grace &&
           time_.between(std::max(time_.began(), outage_), now) > grace;
  }

  void check_task(const Picture& picture, const Committed& commit, const TaskRow& row) {
    const NodeSpec* spec = picture.spec_of(row);
    const Instant now = commit.term_now;
    if (spec == nullptr) return;
    if (row.state == TaskState::kScheduled) {
      if (!is_late(std::max(row.granted_at, time_.began()), now, start_limit(*spec, policy())))
        return;
      return violated("{} was not started since {} and nobody asks it back", say(row),
                      say(row.granted_at));
    }
    if (is_late(row.started_at, now, step_in_limit(*spec, policy()))) {
      violated("{} runs since {}, far beyond its timeout", say(row), say(row.started_at));
    }
    const Instant moved = std::max(movement_.last(row, *spec), time_.began());
    if (watched(row, *spec, policy()) != Watched::kYes) return;
    if (is_late(moved, now, stale_limit(*spec, policy()))) {
      violated("{} has not moved since {} and is not stale", say(row), say(moved));
    }
  }

  void check_run(const Committed& commit, const RunRow& run) {
    if (is_late(run.timeout_at, commit.term_now, {})) {
      violated("run {} goes on, its time was up at {}", to_text(run.id), say(run.timeout_at));
    }
  }

  void check_lease(const Committed& commit, const PartitionLeaseRow& row) {
    if (is_late(row.expires_at, commit.term_now, {})) {
      violated("partition {} is still held by '{}', its lease ended at {}", say(row.partition),
               row.holder.text, say(row.expires_at));
    }
  }

  LeaderTime time_;
  LatestTerm latest_;
  Instant outage_;  // the newest one of this term ended here
  Movement movement_;
  std::set<TaskId> held_;
  std::set<RunId> runs_;
  std::set<PartitionKey> leases_;
};

}  // namespace

void add_due_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<NotBeforeDue>(tools));
  list.push_back(std::make_unique<DueIsDone>(tools));
}

}  // namespace vortex::sim
