#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

bool failed_under(const TaskRow* task, Epoch epoch) {
  return task != nullptr && task->state == TaskState::kFailed && task->epoch == epoch;
}

// 22: every dead task has exactly one dead letter; a re-drive makes it live once.
class OneDeadLetter : public CommitChecker {
 public:
  explicit OneDeadLetter(const CheckerTools& tools) : CommitChecker("22-one-dead-letter", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      const TaskRow& after = *change.after;
      if (after.state == TaskState::kFailed && !failed_under(change.was(), after.epoch)) {
        check_died(picture, after);
      }
      if (change.before && change.before->state == TaskState::kFailed &&
          !failed_under(&after, change.before->epoch)) {
        check_revived(picture, *change.before, after);
      }
    }
    for (const auto& change : picture.dead_letters().changes()) check_letter(picture, change);
  }

 private:
  void check_died(const Picture& picture, const TaskRow& task) {
    const Attempt attempt{task.id, task.epoch};
    if (picture.dead_letters().changed(attempt)) return;
    violated("{} without a dead letter in the same commit", say(task));
  }

  void check_revived(const Picture& picture, const TaskRow& before, const TaskRow& after) {
    const DeadLetterRow* letter = picture.dead_letters().find({before.id, before.epoch});
    // One that was discarded before stays so.
    if (letter != nullptr && letter->state != DeadLetterState::kOpen) return;
    violated("{} became {}, but its dead letter is {}", say(before), say(after),
             letter == nullptr ? "not there" : "still open");
  }

  void check_letter(const Picture& picture, const RowChange<DeadLetterRow>& change) {
    const DeadLetterRow& after = *change.after;
    const TaskRow* task = picture.tasks().find(after.attempt.task);
    const bool dead = failed_under(task, after.attempt.epoch);
    const bool redriven = after.state == DeadLetterState::kRedriven;
    // A discard and a retry by operators may fall into one commit: then it stays discarded.
    const bool discarded = after.state == DeadLetterState::kDiscarded;
    if (dead == redriven && !discarded) {
      violated("dead letter of {} is {}, but the task is {}", say(after.attempt),
               redriven ? "re-driven" : "not re-driven", task ? say(*task) : "not there");
    }
    const bool again = change.before && change.before->state != DeadLetterState::kOpen &&
                       after.state == DeadLetterState::kOpen;
    const bool undone =
        change.before && change.before->state == DeadLetterState::kRedriven && !redriven;
    if (again || undone) violated("dead letter of {} came back", say(after.attempt));
  }
};

}  // namespace

void add_dead_letter_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OneDeadLetter>(tools));
}

}  // namespace vortex::sim
