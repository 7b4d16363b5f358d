#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "model/plan.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

using AttemptKey = std::tuple<RunId, std::uint32_t, Epoch>;

RunId parent_run(const RunRow& run) { return run.request ? run.request->parent : RunId{}; }

AttemptKey attempt_key(const RunRow& child) {
  return {child.request->parent, child.request->parent_index, child.request->parent_epoch};
}

// The task that the run is an attempt of; null: it is no child, or there is none.
const TaskRow* parent_task(const Picture& picture, const RunRow& run) {
  if (parent_run(run).value == 0) return nullptr;
  return picture.tasks().find({parent_run(run), run.request->parent_index});
}

// Which run each attempt at a sub-DAG is, by commits.
class Family {
 public:
  void committed(const Picture& picture) {
    for (const auto& change : picture.runs().changes()) {
      const RunRow& run = *change.after;
      if (parent_run(run).value == 0) continue;
      run_of_.try_emplace(attempt_key(run), run.id);
    }
  }
  // Null: none.
  const RunRow* run_of(const Picture& picture, const TaskRow& task, Epoch epoch) const {
    const auto found = run_of_.find({task.id.run, task.id.index, epoch});
    return found == run_of_.end() ? nullptr : picture.runs().find(found->second);
  }
  const std::map<AttemptKey, RunId>& all() const { return run_of_; }

 private:
  std::map<AttemptKey, RunId> run_of_;
};

bool is_new(const RowChange<RunRow>& change) { return !change.before; }

// 70: each attempt at a sub-DAG is one run, made of the DAG that its task names, and made when the
// task is tried.
class OneChildPerAttempt : public CommitChecker {
 public:
  explicit OneChildPerAttempt(const CheckerTools& tools)
      : CommitChecker("70-one-child-per-attempt", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) {
      if (parent_run(*change.after).value == 0) continue;
      check_one(*change.after);
      if (is_new(change)) check_made(picture, *change.after);
    }
  }

 private:
  void check_one(const RunRow& run) {
    const auto [known, added] = run_of_.try_emplace(attempt_key(run), run.id);
    if (known->second == run.id) return;
    violated("runs {} and {} are the same attempt at task {} of run {}", to_text(known->second),
             to_text(run.id), run.request->parent_index, to_text(parent_run(run)));
  }

  void check_made(const Picture& picture, const RunRow& run) {
    const TaskRow* task = parent_task(picture, run);
    const RunNodes* nodes = picture.nodes(parent_run(run));
    if (task == nullptr || nodes == nullptr) {
      return violated("run {} is a child of nobody", to_text(run.id));
    }
    const auto& child = nodes->plan().nodes[task->node].child;
    if (!child || !child->plan || child->plan->digest != run.plan->digest) {
      return violated("run {} is not of the DAG that {} names", to_text(run.id), say(*task));
    }
    if (task->epoch < run.request->parent_epoch || task->state == TaskState::kWaiting) {
      violated("run {} was made for an attempt that {} has not come to", to_text(run.id),
               say(*task));
    }
  }

  std::map<AttemptKey, RunId> run_of_;
};

// 71: a child ends with its parent: no task is over before its run, and no run before its children.
class ChildrenEndWithParent : public CommitChecker {
 public:
  explicit ChildrenEndWithParent(const CheckerTools& tools)
      : CommitChecker("71-children-end-with-parent", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    family_.committed(picture);
    for (const auto& change : picture.tasks().changes()) check_task(picture, *change.after);
    for (const auto& change : picture.runs().changes()) check_run(picture, *change.after);
  }

 private:
  void check_task(const Picture& picture, const TaskRow& task) {
    const RunRow* child = family_.run_of(picture, task, task.epoch);
    if (child == nullptr || !is_final(task.state) || child->state != RunState::kRunning) return;
    violated("{} is over, and its run {} is not", say(task), to_text(child->id));
  }

  void check_run(const Picture& picture, const RunRow& run) {
    if (run.state != RunState::kRunning || parent_run(run).value == 0) return;
    const RunRow* parent = picture.runs().find(parent_run(run));
    if (parent == nullptr || parent->state == RunState::kRunning) return;
    violated("run {} goes on, and run {}, which it is a child of, is {}", to_text(run.id),
             to_text(parent->id), to_text(parent->state));
  }

  Family family_;
};

// 72: what becomes of the task follows from what becomes of its run, in the same commit: it
// completes, with the outputs of its DAG, or is tried again or given up.
class OutcomeOfChild : public CommitChecker {
 public:
  explicit OutcomeOfChild(const CheckerTools& tools)
      : CommitChecker("72-outcome-of-child", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    family_.committed(picture);
    for (const auto& change : picture.tasks().changes()) {
      const NodeSpec* spec = picture.spec_of(*change.after);
      if (spec != nullptr && spec->child) check_task(picture, commit, change);
    }
    for (const auto& change : picture.runs().changes()) check_told(picture, *change.after);
  }

 private:
  void check_task(const Picture& picture, const Committed& commit,
                  const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    const bool same =
        change.before && change.before->state == task.state && change.before->epoch == task.epoch;
    if (same) return;
    const RunRow* child = family_.run_of(picture, task, task.epoch);
    if (task.state == TaskState::kCompleted) {
      if (child == nullptr || child->state != RunState::kCompleted) {
        return violated("{} completed without a run that did", say(task));
      }
      check_outputs(commit, task, *child);
    }
    if (task.state != TaskState::kFailed || child == nullptr) return;
    if (child->state != RunState::kCompleted) return;
    if (task.error_message.starts_with("cannot resolve output")) return;
    violated("{} failed, and its run {} completed", say(task), to_text(child->id));
  }

  void check_outputs(const Committed& commit, const TaskRow& task, const RunRow& child) {
    bool given = false;
    for (const TaskDataRow& data : commit.rows.task_data) {
      if (data.id == task.id && data.outputs) given = true;
    }
    if (given == !child.plan->spec.outputs.empty()) return;
    violated("{} completed {} the outputs of {}", say(task), given ? "beside" : "without",
             to_text(child.id));
  }

  // The end of a run is never news that its task still waits for.
  void check_told(const Picture& picture, const RunRow& child) {
    if (child.state == RunState::kRunning) return;
    const TaskRow* task = parent_task(picture, child);
    if (task == nullptr || task->epoch != child.request->parent_epoch) return;
    if (task->state != TaskState::kQueued) return;
    violated("{} still waits for {}, which is {}", say(*task), to_text(child.id),
             to_text(child.state));
  }

  Family family_;
};

// 73: cancels, timeouts and pauses go down: once the commit of one is there, nothing starts in any
// run below, but for the `finally` tasks of what was cancelled.
class HeldFromAbove : public CommitChecker {
 public:
  explicit HeldFromAbove(const CheckerTools& tools) : CommitChecker("73-held-from-above", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      if (is_new_grant(change)) check(picture, *change.after, "was granted");
    }
    for (const auto& change : picture.runs().changes()) {
      if (!is_new(change)) continue;
      const TaskRow* task = parent_task(picture, *change.after);
      if (task != nullptr) check(picture, *task, "was started");
    }
  }

 private:
  // Before the commit and after it: an operator may have brought it back to life between them.
  template <class Test>
  static bool stays(const Picture& picture, RunId id, const Test& test) {
    const RunRow* before = picture.runs().find_before(id);
    const RunRow* after = picture.runs().find(id);
    return before != nullptr && after != nullptr && test(*before) && test(*after);
  }

  void check(const Picture& picture, const TaskRow& task, std::string_view what) {
    bool may_end = true;  // nothing on the way runs because something was cancelled
    const TaskRow* at = &task;
    for (bool own = true; at != nullptr; own = false) {
      const NodeSpec* spec = picture.spec_of(*at);
      const RunRow* run = picture.runs().find(at->id.run);
      if (spec == nullptr || run == nullptr) return;
      const bool last = spec->finally;
      const auto ending = [last](const RunRow& row) {
        return (last ? row.finally_ending : row.ending) != RunEnding::kNone;
      };
      if (!own && may_end && stays(picture, run->id, ending)) {
        return violated("{} {} after run {} above it was ended", say(task), what, to_text(run->id));
      }
      const auto paused = [](const RunRow& row) {
        return row.paused && row.ending == RunEnding::kNone;
      };
      if (!own && stays(picture, run->id, paused)) {
        return violated("{} {} while run {} above it is paused", say(task), what, to_text(run->id));
      }
      if (run->ending != RunEnding::kNone) return;  // what is above it has let go
      if (last) may_end = false;
      at = parent_task(picture, *run);
    }
  }
};

}  // namespace

void add_child_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OneChildPerAttempt>(tools));
  list.push_back(std::make_unique<ChildrenEndWithParent>(tools));
  list.push_back(std::make_unique<OutcomeOfChild>(tools));
  list.push_back(std::make_unique<HeldFromAbove>(tools));
}

}  // namespace vortex::sim
