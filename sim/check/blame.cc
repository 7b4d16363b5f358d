#include <map>
#include <string_view>

#include "sim/check/brake_watch.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// By how much the commit raised the task's crashes; nothing when an operator's act reset them.
std::uint32_t new_crashes(const Picture& picture, const RowChange<TaskRow>& change) {
  if (picture.acted_on(change.after->id)) return 0;
  const std::uint32_t before = change.before ? change.before->counters.crashes : 0;
  const std::uint32_t after = change.after->counters.crashes;
  return after > before ? after - before : 0;
}

// 15: blame only for tasks that were reported started.
class BlameOnlyStarted : public CommitChecker {
 public:
  explicit BlameOnlyStarted(const CheckerTools& tools)
      : CommitChecker("15-blame-only-started", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const std::uint32_t crashes = new_crashes(picture, change);
      if (crashes == 0) continue;
      const auto ended = picture.ended().find(change.after->id);
      const std::uint32_t started = ended == picture.ended().end() ? 0 : ended->second.lost_started;
      if (crashes <= started) continue;
      violated("{} is blamed for {} crashes, but {} of its lost attempts were reported started",
               say(*change.after), crashes, started);
    }
  }
};

// 16: the crash limit is never passed; reaching it quarantines in the same transaction.
class CrashLimit : public CommitChecker {
 public:
  explicit CrashLimit(const CheckerTools& tools) : CommitChecker("16-crash-limit", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const TaskRow& task = *change.after;
      if (task.counters.crashes < policy().crash_limit) continue;
      if (task.counters.crashes > policy().crash_limit || !is_final(task.state)) {
        violated("{} has crashed {} workers; the limit is {}", say(task), task.counters.crashes,
                 policy().crash_limit);
      } else if (task.state == TaskState::kFailed && new_crashes(picture, change) > 0) {
        check_quarantined(picture, task);
      }
    }
  }

 private:
  void check_quarantined(const Picture& picture, const TaskRow& task) {
    const Attempt attempt{task.id, task.epoch};
    if (picture.dead_letters().changed(attempt)) return;
    violated("{} reached the crash limit without a dead letter in the same commit", say(task));
  }
};

// A way to lose a worker that may be the fault of a task that ran there.
bool may_blame(Evidence evidence) {
  return evidence == Evidence::kExit || evidence == Evidence::kNewIncarnation ||
         evidence == Evidence::kHint || evidence == Evidence::kSilence;
}

// 17: drain, stop, self-fence and the loss of the whole fleet blame nobody.
class NobodyBlamed : public Checker {
 public:
  explicit NobodyBlamed(const CheckerTools& tools) : Checker("17-nobody-blamed", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    brake_.fact(fact);
    if (!std::holds_alternative<Committed>(fact)) return;
    blamable_.clear();
    for (const auto& change : picture.items().changes()) note_item(picture, change);
    for (const auto& change : picture.tasks().changes()) {
      const std::uint32_t crashes = new_crashes(picture, change);
      if (crashes > 0) check(*change.after, crashes);
    }
  }

 private:
  void note_item(const Picture& picture, const RowChange<RecoveryItemRow>& change) {
    if (change.before) return;  // only its new worker was filled in
    const RecoveryRow* recovery = picture.recoveries().find(change.after->recovery);
    if (recovery == nullptr || !may_blame(recovery->evidence)) return;
    // Proof speaks of this worker alone, whatever befell the fleet.
    const auto phase = brake_.phase_at(recovery->at);
    const bool fleet_wide = phase && *phase != BrakePhase::kOff && !is_proof(recovery->evidence);
    if (!fleet_wide) ++blamable_[change.after->task];
  }

  void check(const TaskRow& task, std::uint32_t crashes) {
    const auto found = blamable_.find(task.id);
    const std::uint32_t allowed = found == blamable_.end() ? 0 : found->second;
    if (crashes <= allowed) return;
    violated("{} is blamed for {} crashes; {} lost workers of this commit may be blamed on a task",
             say(task), crashes, allowed);
  }

  BrakeWatch brake_;
  std::map<TaskId, std::uint32_t> blamable_;
};

}  // namespace

void add_blame_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<BlameOnlyStarted>(tools));
  list.push_back(std::make_unique<CrashLimit>(tools));
  list.push_back(std::make_unique<NobodyBlamed>(tools));
}

}  // namespace vortex::sim
