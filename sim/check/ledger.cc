#include <map>
#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

std::string say_recovery(const RecoveryRow& row) {
  return fmt::format("recovery {} ({}) of {}", row.id.value, to_text(row.evidence),
                     say(Holder{row.worker, row.incarnation}));
}

// 18: one ledger item per reclaimed (task, epoch), in the same transaction; none without a reclaim.
class LedgerComplete : public CommitChecker {
 public:
  explicit LedgerComplete(const CheckerTools& tools) : CommitChecker("18-ledger-complete", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    new_items_.clear();
    forgotten_ = {commit.rows.workers_gone.begin(), commit.rows.workers_gone.end()};
    left_.clear();
    for (const Event& event : commit.events) {
      if (event.kind == EventKind::kWorkerInactive) left_.insert(event.worker);
    }
    for (const auto& change : picture.items().changes()) {
      change.before ? check_same_item(picture, change) : check_new_item(picture, *change.after);
    }
    for (const auto& change : picture.recoveries().changes()) check_recovery(picture, change);
    for (const auto& change : picture.attempts().changes()) check_lost(picture, *change.after);
    for (const auto& change : picture.workers().changes()) check_gone(picture, change);
  }

 private:
  void check_new_item(const Picture& picture, const RecoveryItemRow& item) {
    ++new_items_[item.recovery];
    const Attempt attempt{item.task, item.old_epoch};
    const auto [known, is_new] = recovery_of_.try_emplace(attempt, item.recovery);
    if (!is_new) {
      violated("{} is in the ledger twice: recovery {} and {}", say(attempt), known->second.value,
               item.recovery.value);
    }
    const RecoveryRow* recovery = picture.recoveries().find(item.recovery);
    if (recovery == nullptr || !picture.recoveries().changed(item.recovery)) {
      violated("ledger item of {} without its recovery {} in the same commit", say(attempt),
               item.recovery.value);
    } else if (recovery->worker != item.old_worker) {
      violated("ledger item of {} names worker '{}' in {}", say(attempt), item.old_worker.text,
               say_recovery(*recovery));
    }
    check_reclaimed(picture, item);
  }

  void check_reclaimed(const Picture& picture, const RecoveryItemRow& item) {
    const Attempt attempt{item.task, item.old_epoch};
    if (!picture.attempts().changed(attempt)) {
      violated("ledger item of {}, but no such attempt ended in this commit", say(attempt));
    }
    const TaskRow* after = picture.tasks().find(item.task);
    const bool gone = after != nullptr && (after->epoch > item.old_epoch || is_final(after->state));
    if (!gone) {
      violated("ledger item of {}, but the task is {}", say(attempt),
               after ? say(*after) : "not there");
    }
    const bool requeued = item.new_epoch == item.old_epoch.next();
    const bool ended = item.new_epoch == item.old_epoch && gone && is_final(after->state);
    if (!requeued && !ended) {
      violated("ledger item of {} leads to epoch {}", say(attempt), item.new_epoch.value);
    }
  }

  // Written again only to say who got the task next.
  void check_same_item(const Picture& picture, const RowChange<RecoveryItemRow>& change) {
    const RecoveryItemRow& before = *change.before;
    const RecoveryItemRow& after = *change.after;
    const Attempt attempt{after.task, before.old_epoch};
    if (before.old_epoch != after.old_epoch || before.new_epoch != after.new_epoch ||
        before.old_worker != after.old_worker) {
      violated("ledger item of {} in recovery {} was changed", say(attempt), after.recovery.value);
    }
    if (!before.new_worker.empty() && before.new_worker != after.new_worker) {
      violated("ledger item of {} names two new workers: '{}' and '{}'", say(attempt),
               before.new_worker.text, after.new_worker.text);
    }
    const TaskRow* task = picture.tasks().find(after.task);
    if (task != nullptr && is_held(task->state) && task->epoch == after.new_epoch &&
        task->worker != after.new_worker) {
      violated("ledger item of {} names new worker '{}', but it is {}", say(attempt),
               after.new_worker.text, say(*task));
    }
  }

  void check_recovery(const Picture& picture, const RowChange<RecoveryRow>& change) {
    const RecoveryRow& row = *change.after;
    if (change.before) return violated("{} was written twice", say_recovery(row));
    const auto found = new_items_.find(row.id);
    const std::uint32_t items = found == new_items_.end() ? 0 : found->second;
    if (items != row.num_tasks) {
      violated("{} counts {} tasks and has {} items", say_recovery(row), row.num_tasks, items);
    }
    // A hint leaves exclusive tasks where they are, so the worker may stay as well.
    if (row.evidence == Evidence::kHint || row.evidence == Evidence::kReconciler) return;
    if (forgotten_.contains(row.worker)) return;
    const WorkerRow* worker = picture.workers().find(row.worker);
    if (worker != nullptr && worker->incarnation == row.incarnation && is_present(worker->state)) {
      violated("{}, but the worker is {}", say_recovery(row), to_text(worker->state));
    }
  }

  void check_lost(const Picture& picture, const AttemptRow& row) {
    if (row.verdict != Verdict::kWorkerLost) return;
    const auto found = recovery_of_.find(row.attempt);
    const bool here =
        found != recovery_of_.end() && picture.items().changed({found->second, row.attempt.task});
    if (!here) violated("{} was lost with its worker without a ledger item", say(row.attempt));
  }

  void check_gone(const Picture& picture, const RowChange<WorkerRow>& change) {
    const WorkerRow& after = *change.after;
    const bool lost = change.before && is_present(change.before->state) &&
                      change.before->incarnation == after.incarnation &&
                      after.state == WorkerState::kOffline;
    if (!lost) return;
    // Whoever is deleted in the commit it leaves in has no row that says so, only events.
    if (forgotten_.contains(after.info->id) && left_.contains(after.info->id)) return;
    for (const auto& recovery : picture.recoveries().changes()) {
      if (recovery.after->worker == after.info->id &&
          recovery.after->incarnation == after.incarnation) {
        return;
      }
    }
    violated("{} became OFFLINE without a recovery in the same commit",
             say(Holder{after.info->id, after.incarnation}));
  }

  std::map<Attempt, RecoveryId> recovery_of_;
  std::map<RecoveryId, std::uint32_t> new_items_;  // of the commit being checked
  std::set<WorkerId> left_;                        // by their own word, in this commit
  std::set<WorkerId> forgotten_;                   // likewise; may have begun anew in it
};

}  // namespace

void add_ledger_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<LedgerComplete>(tools));
}

}  // namespace vortex::sim
