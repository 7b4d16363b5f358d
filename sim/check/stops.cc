#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 30: a cancel that was acknowledged is kept, whoever leads by then: its task ends Cancelled under
// the epoch it was asked of, its run never takes work again. A stop that is durable is not taken
// back by anything but the end of the attempt.
class StopKept : public Checker {
 public:
  explicit StopKept(const CheckerTools& tools) : Checker("30-stop-kept", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (std::holds_alternative<Committed>(fact)) {
      for (const auto& change : picture.tasks().changes()) check_task(picture, change);
      for (const auto& change : picture.runs().changes()) check_run(change);
    } else if (const auto* told = std::get_if<ClientTold>(&fact)) {
      if (std::holds_alternative<core::Done>(told->answer)) check_answer(picture, *told);
    }
  }

 private:
  void check_task(const Picture& picture, const RowChange<TaskRow>& change) {
    if (!change.before || change.before->stop == StopReason::kNone) return;
    const TaskRow& before = *change.before;
    const TaskRow& after = *change.after;
    if (!is_held(before.state)) return;
    const bool same_attempt = is_held(after.state) && after.epoch == before.epoch;
    if (before.stop != StopReason::kCancel) {
      if (same_attempt && after.stop == StopReason::kNone) {
        violated("{} was to be stopped and is not any more", say(after));
      }
      return;
    }
    if (same_attempt && after.stop == StopReason::kCancel) return;
    const AttemptRow* end = picture.attempts().find({before.id, before.epoch});
    const bool ended = end != nullptr && end->verdict == Verdict::kCancelled;
    if (after.state == TaskState::kCancelled && after.epoch == before.epoch && ended) return;
    violated("{} was cancelled and became {}", say(before), say(after));
  }

  void check_run(const RowChange<RunRow>& change) {
    if (!change.before) return;
    const auto taken_back = [](RunEnding before, RunEnding after) {
      return before != RunEnding::kNone && before != after;
    };
    if (!taken_back(change.before->ending, change.after->ending) &&
        !taken_back(change.before->finally_ending, change.after->finally_ending)) {
      return;
    }
    violated("the end of run {} was taken back", to_text(change.after->id));
  }

  void check_answer(const Picture& picture, const ClientTold& told) {
    if (const auto* one = std::get_if<core::CancelTask>(&told.command)) {
      const TaskRow* row = picture.tasks().find(one->task);
      const bool kept =
          row != nullptr && (row->state == TaskState::kCancelled ||
                             (!is_final(row->state) && row->stop == StopReason::kCancel));
      if (kept) return;
      violated("the cancel of {} was acknowledged, and it is {}", say(one->task),
               row != nullptr ? say(*row) : "not there");
    } else if (const auto* all = std::get_if<core::CancelRun>(&told.command)) {
      const RunRow* row = picture.runs().find(all->run);
      if (row != nullptr && row->ending != RunEnding::kNone) return;
      if (row != nullptr && row->finally_ending != RunEnding::kNone) return;
      violated("the cancel of run {} was acknowledged, and it goes on", to_text(all->run));
    }
  }
};

}  // namespace

void add_stop_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<StopKept>(tools));
}

}  // namespace vortex::sim
