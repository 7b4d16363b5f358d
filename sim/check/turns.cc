#include <map>
#include <set>

#include "sim/check/claims.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 39: among tasks that ask for the same and name the same limits, the one of higher priority goes
// first, and of equal ones that were never handed out the one that became ready first. Judged where
// nothing else holds the other one back: no backoff, no pause, no limit of its map, no worker to
// keep away from.
class TakenInTurn : public ClaimChecker {
 public:
  explicit TakenInTurn(const CheckerTools& tools) : ClaimChecker("39-taken-in-turn", tools) {}

 private:
  // The task it is an attempt of adds to the priority of its tasks.
  static bool is_child(const Picture& picture, RunId id) {
    const RunRow* run = picture.runs().find(id);
    return run != nullptr && run->request && run->request->parent.value != 0;
  }

  void claimed(const Picture& picture, const Claim& claim) override {
    if (is_child(picture, claim.task.id.run)) return;
    for (const auto& [id, since] : waiting_) {
      if (id == claim.task.id) continue;
      const TaskRow* other = picture.tasks().find_before(id);
      const NodeSpec* spec = other != nullptr ? picture.spec_of(*other) : nullptr;
      if (spec == nullptr || spec->wait || spec->child || is_child(picture, id.run)) continue;
      if (spec->priority < claim.spec.priority || spec->limits != claim.spec.limits) continue;
      if (spec->requirements != claim.spec.requirements || !is_free(*other, *spec)) continue;
      if (spec->priority > claim.spec.priority) {
        violated("{} (priority {}) was taken before {} (priority {})", say(claim.task.id),
                 claim.spec.priority, say(id), spec->priority);
      } else if (is_first_try(claim) && since < since_of(claim.task.id)) {
        violated("{} was taken before {}, which was ready first", say(claim.task.id), say(id));
      }
    }
  }

  // Waits for a worker and for nothing else, since before this commit.
  bool is_free(const TaskRow& row, const NodeSpec& spec) const {
    if (row.state != TaskState::kQueued || row.ready_at > row.updated_at) return false;
    if (row.counters.attempts > 0 || row.epoch.value > 1 || paused_.contains(row.id.run))
      return false;
    if (spec.map && (spec.map->max_parallel > 0 || spec.map->max_failures)) return false;
    const ToldTask* task = told().task(row.id);
    // What this commit handed out and took back has its own wait since then.
    const bool untouched =
        task == nullptr || (task->state == TaskState::kQueued && task->epoch.value <= 1);
    const ToldRun* run = told().run(row.id.run);
    return untouched && run != nullptr && !run->stopped;
  }

  // One that had its turn before stands in front when it comes back.
  bool is_first_try(const Claim& claim) const {
    const ToldTask* task = told().task(claim.task.id);
    const bool first = task == nullptr || task->epoch.value == 1;
    const bool skippable = claim.spec.map && claim.spec.map->max_failures;
    return first && !skippable && !paused_.contains(claim.task.id.run);
  }

  std::uint64_t since_of(TaskId id) const {
    const auto found = waiting_.find(id);
    return found == waiting_.end() ? commits_ + 1 : found->second;
  }

  void after(const Picture&, const Event& event) override {
    const bool moves = event.kind == EventKind::kRunPaused || event.kind == EventKind::kRunResumed;
    if (moves && event.run) paused_.insert(*event.run);  // all of it is placed anew
  }

  void committed(const Picture& picture, const Committed&) override {
    ++commits_;
    for (const auto& change : picture.tasks().changes()) {
      if (change.after->state == TaskState::kQueued) {
        waiting_.try_emplace(change.after->id, commits_);
      } else {
        waiting_.erase(change.after->id);
      }
    }
  }

  // A new leader puts all that waits into its lists at once.
  void term_began(const Picture&) override {
    for (auto& [id, since] : waiting_) since = commits_;
  }

  std::uint64_t commits_ = 0;
  std::map<TaskId, std::uint64_t> waiting_;  // Queued since which commit
  std::set<RunId> paused_;                   // ever
};

}  // namespace

void add_turn_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<TakenInTurn>(tools));
}

}  // namespace vortex::sim
