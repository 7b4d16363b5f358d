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
// a live worker dead. A worker that did not get the processor is no excuse: its runners have a
// fence of their own.
class NoTwoProcesses : public Checker {
 public:
  explicit NoTwoProcesses(const CheckerTools& tools) : Checker("08-no-two-processes", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* started = std::get_if<ProcessStarted>(&fact)) {
      start(picture, *started);
    } else if (const auto* ended = std::get_if<ProcessEnded>(&fact)) {
      end(picture, *ended);
    } else if (const auto* replaced = std::get_if<HolderReplaced>(&fact)) {
      replaced_.insert({replaced->worker, replaced->incarnation});
    } else if (const auto* clock = std::get_if<ClockBeyondMargin>(&fact)) {
      clock_wrong_.insert(clock->worker);
    } else if (const auto* forged = std::get_if<HintForged>(&fact)) {
      hint_forged_.insert({forged->worker, forged->incarnation});
    } else if (std::holds_alternative<Committed>(fact)) {
      note_operators(picture);
    }
  }

 private:
  void start(const Picture& picture, const ProcessStarted& second) {
    std::set<std::uint64_t>& live = live_[second.attempt.task];
    for (const std::uint64_t other : live) {
      const ProcessStarted* first = picture.process(other);
      if (first == nullptr) continue;
      // The one that should not run any more may also be the one that starts later.
      const bool late = second.attempt.epoch < first->attempt.epoch;
      if (!excused(picture, late ? second : *first)) {
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

  bool excused(const Picture& picture, const ProcessStarted& first) const {
    const Holder holder{first.worker, first.incarnation};
    if (replaced_.contains(holder) || clock_wrong_.contains(first.worker)) return true;
    if (called_dead_.contains(holder)) return true;
    const TaskRow* task = picture.tasks().find(first.attempt.task);
    const NodeSpec* spec = task != nullptr ? picture.spec_of(*task) : nullptr;
    const bool exclusive = spec != nullptr && spec->exclusive;
    return !exclusive && hint_forged_.contains(holder);
  }

  void note_operators(const Picture& picture) {
    for (const auto& change : picture.recoveries().changes()) {
      const RecoveryRow& row = *change.after;
      if (row.evidence == Evidence::kOperator) called_dead_.insert({row.worker, row.incarnation});
    }
  }

  std::map<TaskId, std::set<std::uint64_t>> live_;
  std::set<Holder> replaced_;
  std::set<Holder> hint_forged_;
  std::set<Holder> called_dead_;
  std::set<WorkerId> clock_wrong_;
};

}  // namespace

void add_process_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<EpochStartsOnce>(tools));
  list.push_back(std::make_unique<NoTwoProcesses>(tools));
}

}  // namespace vortex::sim
