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

// 32: who is to blame is blamed. A worker that died of its own and alone takes a crash to every
// task that was reported started there, and to no other; and each attempt that was not started in
// time counts as such. Told from the ledger and the attempts, so the counters are exactly these.
class BlameWhereDue : public Checker {
 public:
  explicit BlameWhereDue(const CheckerTools& tools) : Checker("32-blame-where-due", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    brake_.fact(fact);
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    // Without the log nobody knows of the brake.
    events_told_ = events_told_ || !commit->events.empty();
    due_.clear();
    for (const auto& change : picture.items().changes()) {
      if (!change.before) note_lost(picture, *change.after);
    }
    for (const auto& change : picture.attempts().changes()) {
      if (change.after->verdict == Verdict::kNotStartedInTime) {
        ++due_[change.after->attempt.task].unstarted;
      }
    }
    for (const auto& change : picture.tasks().changes()) check(picture, change);
  }

 private:
  struct Due {
    std::uint32_t crashes = 0;
    std::uint32_t unstarted = 0;
    bool unclear = false;
  };

  void note_lost(const Picture& picture, const RecoveryItemRow& item) {
    const RecoveryRow* recovery = picture.recoveries().find(item.recovery);
    const AttemptRow* attempt = picture.attempts().find({item.task, item.old_epoch});
    if (recovery == nullptr || attempt == nullptr) return;
    if (attempt->verdict != Verdict::kWorkerLost || attempt->started_at == kNever) return;
    if (!may_blame(recovery->evidence)) return;
    const auto phase = brake_.phase_at(recovery->at);
    Due& due = due_[item.task];
    if (is_proof(recovery->evidence) || (phase && *phase == BrakePhase::kOff)) ++due.crashes;
    if (!is_proof(recovery->evidence) && (!phase || !events_told_)) due.unclear = true;
  }

  void check(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    if (picture.acted_on(task.id)) return;  // counters start anew
    const auto found = due_.find(task.id);
    const Due due = found == due_.end() ? Due{} : found->second;
    const TaskCounters before = change.before ? change.before->counters : TaskCounters{};
    const int crashes = task.counters.crashes - before.crashes;
    const int unstarted = task.counters.unstarted - before.unstarted;
    if (!due.unclear && crashes != static_cast<int>(due.crashes)) {
      violated("{} is blamed for {} crashes; it is due for {}", say(task), crashes, due.crashes);
    }
    if (unstarted != static_cast<int>(due.unstarted)) {
      violated("{}: {} attempts count as not started; it is due for {}", say(task), unstarted,
               due.unstarted);
    }
  }

  BrakeWatch brake_;
  bool events_told_ = false;
  std::map<TaskId, Due> due_;
};

}  // namespace

void add_blame_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<BlameOnlyStarted>(tools));
  list.push_back(std::make_unique<CrashLimit>(tools));
  list.push_back(std::make_unique<NobodyBlamed>(tools));
  list.push_back(std::make_unique<BlameWhereDue>(tools));
}

}  // namespace vortex::sim
