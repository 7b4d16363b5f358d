#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

Holder holder_of(const TaskRow& row) { return {row.worker, row.incarnation}; }

// 6: a task has at most one owner: one per epoch, and none while it waits.
class OneOwner : public CommitChecker {
 public:
  explicit OneOwner(const CheckerTools& tools) : CommitChecker("06-one-owner", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    for (const TaskRow& row : commit.rows.tasks) {
      if (is_held(row.state)) {
        check_held(picture, row);
      } else if (!is_final(row.state) && !row.worker.empty()) {
        violated("{}: a task that waits has an owner", say(row));
      }
    }
  }

 private:
  void check_held(const Picture& picture, const TaskRow& row) {
    if (row.worker.empty()) return violated("{}: a task that is held has no owner", say(row));
    const Holder* first = picture.granted_to({row.id, row.epoch});
    if (first == nullptr || *first == holder_of(row)) return;
    violated("{}, but this epoch was granted to {}", say(row), say(*first));
  }
};

// 20: no worker is gone while an unfinished task is assigned to that life of it.
class NoWorkOnTheGone : public CommitChecker {
 public:
  explicit NoWorkOnTheGone(const CheckerTools& tools)
      : CommitChecker("20-no-work-on-the-gone", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) check_holder(picture, *change.after);
    for (const auto& change : picture.workers().changes()) check_worker(picture, change);
  }

 private:
  void check_holder(const Picture& picture, const TaskRow& task) {
    if (!is_held(task.state)) return;
    const WorkerRow* worker = picture.workers().find(task.worker);
    if (worker == nullptr) return violated("{}, a worker nobody knows", say(task));
    if (worker->incarnation == task.incarnation && is_present(worker->state)) return;
    violated("{}, but that worker is {} in life {}", say(task), to_text(worker->state),
             worker->incarnation.value);
  }

  void check_worker(const Picture& picture, const RowChange<WorkerRow>& change) {
    const WorkerRow& after = *change.after;
    if (!is_present(after.state)) {
      check_empty(picture, {after.info->id, after.incarnation}, to_text(after.state));
    }
    if (change.before && change.before->incarnation != after.incarnation) {
      check_empty(picture, {after.info->id, change.before->incarnation}, "replaced");
    }
  }

  void check_empty(const Picture& picture, const Holder& holder, std::string_view how) {
    const std::uint32_t held = picture.holdings().load_of(holder).held;
    if (held > 0) violated("{} is {} while {} tasks are assigned to it", say(holder), how, held);
  }
};

}  // namespace

void add_ownership_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OneOwner>(tools));
  list.push_back(std::make_unique<NoWorkOnTheGone>(tools));
}

}  // namespace vortex::sim
