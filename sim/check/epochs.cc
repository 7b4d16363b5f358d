#include <algorithm>
#include <set>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 5: epochs only grow: per task, per lease, per worker's life, and of the leadership itself, whose
// clock never goes back either.
class EpochsGrow : public Checker {
 public:
  explicit EpochsGrow(const CheckerTools& tools) : Checker("05-epochs-grow", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* began = std::get_if<TermBegan>(&fact)) return begin_term(*began);
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    check_term(*commit);
    for (const Event& event : commit->events) {
      if (event.kind == EventKind::kWorkerDeleted) forgotten_.insert(event.worker);
    }
    for (const WorkerId& worker : commit->rows.workers_gone) forgotten_.insert(worker);
    for (const auto& change : picture.tasks().changes()) check_task(change);
    for (const auto& change : picture.leases().changes()) check_lease(change);
    for (const auto& change : picture.workers().changes()) check_worker(change);
  }

 private:
  // One that was overtaken while it loaded begins late, and harmlessly: it can commit nothing. Two
  // leaders of one term could.
  void begin_term(const TermBegan& began) {
    if (!began_.insert(began.term).second) violated("term {} began twice", began.term.value);
    newest_ = std::max(newest_, began.term);
  }

  void check_term(const Committed& commit) {
    if (commit.term < newest_) {
      violated("a commit of term {} after term {} had taken over", commit.term.value,
               newest_.value);
    }
    newest_ = std::max(newest_, commit.term);
    if (commit.term_now < clock_) {
      violated("the clock of term {} went back from {} to {}", commit.term.value, say(clock_),
               say(commit.term_now));
    }
    clock_ = std::max(clock_, commit.term_now);
  }

  void check_task(const RowChange<TaskRow>& change) {
    const TaskRow& after = *change.after;
    if (after.epoch.value == 0) violated("{} without an epoch", say(after));
    if (change.before && after.epoch < change.before->epoch) {
      violated("epoch went back: {}, then {}", say(*change.before), say(after));
    }
  }

  void check_lease(const RowChange<PartitionLeaseRow>& change) {
    if (!change.before || change.after->epoch >= change.before->epoch) return;
    violated("epoch of partition {} went back from {} to {}", say(change.after->partition),
             change.before->epoch.value, change.after->epoch.value);
  }

  void check_worker(const RowChange<WorkerRow>& change) {
    const bool is_new = !change.before || change.before->incarnation != change.after->incarnation;
    // One that was forgotten begins anew with whatever life it has.
    if (is_new && forgotten_.erase(change.after->info->id) > 0) return;
    if (!change.before || change.after->incarnation >= change.before->incarnation) return;
    violated("worker '{}' went back from life {} to life {}", change.after->info->id.text,
             change.before->incarnation.value, change.after->incarnation.value);
  }

  std::set<Term> began_;
  std::set<WorkerId> forgotten_;
  Term newest_;
  Instant clock_;  // of the newest commit
};

}  // namespace

void add_epoch_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<EpochsGrow>(tools));
}

}  // namespace vortex::sim
