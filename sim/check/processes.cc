#include <map>
#include <set>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 7: the same epoch is never started twice.
class EpochStartsOnce : public Checker {
 public:
  explicit EpochStartsOnce(const CheckerTools& tools) : Checker("07-epoch-starts-once", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const auto* started = std::get_if<ProcessStarted>(&fact);
    if (started == nullptr || picture.processes(started->attempt).started <= 1) return;
    violated("{} was started again, on {}", say(started->attempt),
             say(Holder{started->worker, started->incarnation}));
  }
};

// 8: two processes of one task never run at the same true time, but for what no protocol can
// prevent: a clock beyond the margin, a forged hint (not for exclusive tasks, which wait for more
// than a hint), a second life of one worker while the first is still there, or a person who called
// a live worker dead. Each of them only for as long as a worker may go on unheard, which is one
// lease: by then it has fenced itself. On one worker nothing but such a second life excuses it:
// whoever starts there ends first what is left. A worker that did not get the processor is no
// excuse either: its runners have a fence of their own.
class NoTwoProcesses : public Checker {
 public:
  explicit NoTwoProcesses(const CheckerTools& tools) : Checker("08-no-two-processes", tools) {}

  void fact(const Picture& picture, Instant now, const Fact& fact) override {
    if (const auto* started = std::get_if<ProcessStarted>(&fact)) {
      start(picture, now, *started);
    } else if (const auto* ended = std::get_if<ProcessEnded>(&fact)) {
      end(picture, *ended);
    } else if (const auto* replaced = std::get_if<HolderReplaced>(&fact)) {
      replaced_[{replaced->worker, replaced->incarnation}] = now;
    } else if (const auto* clock = std::get_if<ClockBeyondMargin>(&fact)) {
      clock_wrong_.insert(clock->worker);
    } else if (const auto* forged = std::get_if<HintForged>(&fact)) {
      hint_forged_[{forged->worker, forged->incarnation}] = now;
    } else if (std::holds_alternative<Committed>(fact)) {
      note_recoveries(picture, now);
    }
  }

 private:
  using Excuses = std::map<Holder, Instant>;  // from when on

  void start(const Picture& picture, Instant now, const ProcessStarted& second) {
    std::set<std::uint64_t>& live = live_[second.attempt.task];
    for (const std::uint64_t other : live) {
      const ProcessStarted* first = picture.process(other);
      if (first == nullptr) continue;
      // The one that should not run any more may also be the one that starts later.
      const bool late = second.attempt.epoch < first->attempt.epoch;
      const ProcessStarted& stale = late ? second : *first;
      const bool one_worker = first->worker == second.worker;
      if (one_worker ? !is_twin(now, stale) : !excused(picture, now, stale)) {
        violated("{} started on {} while {} still runs on {}", say(second.attempt),
                 say(Holder{second.worker, second.incarnation}), say(first->attempt),
                 say(Holder{first->worker, first->incarnation}));
      }
    }
    live.insert(second.process);
  }

  void end(const Picture& picture, const ProcessEnded& ended) {
    const ProcessStarted* process = picture.process(ended.process);
    if (process == nullptr) return;
    const auto live = live_.find(process->attempt.task);
    if (live == live_.end()) return;
    live->second.erase(ended.process);
    if (live->second.empty()) live_.erase(live);
  }

  bool holds(const Excuses& excuses, const Holder& holder, Instant now) const {
    const auto found = excuses.find(holder);
    return found != excuses.end() && now - found->second <= policy().worker_lease;
  }

  bool is_twin(Instant now, const ProcessStarted& first) const {
    return holds(replaced_, {first.worker, first.incarnation}, now);
  }

  bool excused(const Picture& picture, Instant now, const ProcessStarted& first) const {
    const Holder holder{first.worker, first.incarnation};
    if (clock_wrong_.contains(first.worker) || is_twin(now, first)) return true;
    if (holds(called_dead_, holder, now)) return true;
    const TaskRow* task = picture.tasks().find(first.attempt.task);
    const NodeSpec* spec = task != nullptr ? picture.spec_of(*task) : nullptr;
    const bool exclusive = spec != nullptr && spec->exclusive;
    return !exclusive && holds(hint_forged_, holder, now);
  }

  void note_recoveries(const Picture& picture, Instant now) {
    for (const auto& change : picture.recoveries().changes()) {
      const RecoveryRow& row = *change.after;
      const Holder holder{row.worker, row.incarnation};
      if (row.evidence == Evidence::kOperator) called_dead_[holder] = now;
      // A replaced life that was registered again is replaced again.
      const auto twin = replaced_.find(holder);
      if (row.evidence == Evidence::kNewIncarnation && twin != replaced_.end()) twin->second = now;
    }
  }

  std::map<TaskId, std::set<std::uint64_t>> live_;
  Excuses replaced_;
  Excuses hint_forged_;
  Excuses called_dead_;
  std::set<WorkerId> clock_wrong_;
};

// 8 as well: a hint takes no exclusive task, whether it was reported started or only granted. The
// worker may run it unheard of.
class ExclusiveNotByHint : public CommitChecker {
 public:
  explicit ExclusiveNotByHint(const CheckerTools& tools)
      : CommitChecker("08-exclusive-not-by-hint", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.items().changes()) {
      if (change.before) continue;  // only its new worker was filled in
      const RecoveryRow* recovery = picture.recoveries().find(change.after->recovery);
      if (recovery == nullptr || recovery->evidence != Evidence::kHint) continue;
      const TaskRow* task = picture.tasks().find(change.after->task);
      const NodeSpec* spec = task != nullptr ? picture.spec_of(*task) : nullptr;
      if (spec == nullptr || !spec->exclusive) continue;
      violated("{} is exclusive and was taken from {} by a hint",
               say(Attempt{task->id, change.after->old_epoch}),
               say(Holder{recovery->worker, recovery->incarnation}));
    }
  }
};

}  // namespace

void add_process_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<EpochStartsOnce>(tools));
  list.push_back(std::make_unique<NoTwoProcesses>(tools));
  list.push_back(std::make_unique<ExclusiveNotByHint>(tools));
}

}  // namespace vortex::sim
