#include <map>
#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 33: each life of a worker that was present ends once: with exactly one recovery, or on its own
// word with nothing left to recover. A hint may take a part and leave the life; nothing is
// recovered from one that is over.
class OneRecoveryALife : public CommitChecker {
 public:
  explicit OneRecoveryALife(const CheckerTools& tools)
      : CommitChecker("33-one-recovery-a-life", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    // Whoever was forgotten comes back as somebody new, if need be in the same life.
    left_.clear();
    for (const Event& event : commit.events) {
      if (event.kind == EventKind::kWorkerInactive) left_.insert(event.worker);
      if (event.kind == EventKind::kWorkerDeleted) forget(event.worker);
    }
    deleted_ = {commit.rows.workers_gone.begin(), commit.rows.workers_gone.end()};
    for (const WorkerId& worker : deleted_) forget(worker);
    std::map<Holder, std::uint32_t> endings;
    for (const auto& change : picture.recoveries().changes()) {
      const RecoveryRow& row = *change.after;
      const Holder life{row.worker, row.incarnation};
      if (over_.contains(life)) {
        violated("recovery {} of {}, whose end is behind it", row.id.value, say(life));
      }
      if (row.evidence != Evidence::kHint && ++endings[life] > 1) {
        violated("{} was recovered twice in one commit", say(life));
      }
      if (row.evidence == Evidence::kHint) endings.try_emplace(life, 0);
    }
    for (const auto& change : picture.workers().changes()) check(change, endings);
  }

 private:
  void forget(const WorkerId& worker) {
    std::erase_if(over_, [&](const Holder& life) { return life.worker == worker; });
  }

  void check(const RowChange<WorkerRow>& change, const std::map<Holder, std::uint32_t>& recovered) {
    const WorkerRow& after = *change.after;
    const bool goes_on = is_present(after.state);
    if (!goes_on) over_.insert({after.info->id, after.incarnation});
    if (!change.before || !is_present(change.before->state)) return;
    const Holder before{change.before->info->id, change.before->incarnation};
    const bool same = before.incarnation == after.incarnation;
    if (same && goes_on) return;
    over_.insert(before);
    // Whoever is deleted in the commit it leaves in has no row that says so, only events.
    const bool deleted = deleted_.contains(before.worker) && left_.contains(before.worker);
    const bool left = same && (after.state == WorkerState::kInactive || deleted);
    if (left || recovered.contains(before)) return;
    // It may have left by itself and have come back within one commit.
    const bool was_leaving = change.before->state == WorkerState::kDraining;
    if (!same && (was_leaving || left_.contains(before.worker))) return;
    violated("{} ended without a recovery", say(before));
  }

  std::set<Holder> over_;
  std::set<WorkerId> deleted_;  // in this commit
  std::set<WorkerId> left_;     // by themselves, in the commit being checked
};

}  // namespace

void add_life_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OneRecoveryALife>(tools));
}

}  // namespace vortex::sim
