#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "model/plan.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// What is not over yet of all that runs before; 0: everything is.
std::uint32_t open_before(const Picture& picture, const RunRow& run, const RunNodes& nodes) {
  std::uint32_t open = 0;
  const DagPlan& plan = nodes.plan();
  const auto& tasks = picture.tasks().all();
  for (auto at = tasks.lower_bound({run.id, 0}); at != tasks.end() && at->first.run == run.id;
       ++at) {
    const TaskRow& row = at->second.row;
    const bool first = row.node < plan.nodes.size() && !plan.node_spec(row.node).finally;
    if (first && !is_final(row.state)) ++open;
  }
  if (run.ending != RunEnding::kNone) return open;
  for (std::uint32_t n = 0; n < plan.nodes.size(); ++n) {
    if (!plan.node_spec(n).finally && !nodes.node(n).end) ++open;
  }
  return open;
}

// How the run ended by all but its `finally` tasks.
RunResult result_of(const RunRow& run, const RunNodes& nodes) {
  if (run.ending == RunEnding::kCancelled) return RunResult::kCancelled;
  if (run.ending == RunEnding::kTimedOut) return RunResult::kTimedOut;
  for (std::uint32_t n = 0; n < nodes.plan().nodes.size(); ++n) {
    if (!nodes.plan().node_spec(n).finally && nodes.spoils(n)) return RunResult::kFailed;
  }
  return RunResult::kCompleted;
}

// 60: a task of `finally` begins when everything else has ended, and is told how; no other is.
class FinallyIsLast : public Checker {
 public:
  explicit FinallyIsLast(const CheckerTools& tools) : Checker("60-finally-is-last", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (std::holds_alternative<Committed>(fact)) {
      for (const TaskId task : picture.acts()) acted_in_.insert(task.run);
      for (const auto& change : picture.tasks().changes()) check(picture, change);
    } else if (const auto* given = std::get_if<WorkerGiven>(&fact)) {
      for (const Assignment& one : given->assignments) check_told(picture, one);
    }
  }

 private:
  void check(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    const NodeSpec* spec = picture.spec_of(task);
    const RunNodes* nodes = picture.nodes(task.id.run);
    if (spec == nullptr || nodes == nullptr || !spec->finally) return;
    const bool waited = !change.before || change.before->state == TaskState::kWaiting;
    const bool begins = task.state == TaskState::kQueued || is_held(task.state) ||
                        task.state == TaskState::kCompleted;
    if (!waited || !begins || picture.revived_in(task.id.run)) return;
    const std::uint32_t open = open_before(picture, *picture.runs().find(task.id.run), *nodes);
    if (open == 0) return;
    violated("{} began although {} tasks or nodes before it are open", say(task), open);
  }

  // Of a run that an operator brought back, what was told before may be another ending.
  void check_told(const Picture& picture, const Assignment& given) {
    const auto* work = std::get_if<PlannedWork>(&given.work);
    const RunRow* run = picture.runs().find(given.attempt.task.run);
    const RunNodes* nodes = picture.nodes(given.attempt.task.run);
    if (work == nullptr || run == nullptr || nodes == nullptr || !run->plan) return;
    const bool last = run->plan->node_spec(work->node).finally;
    std::optional<RunResult> due;
    if (last) due = result_of(*run, *nodes);
    if (work->run_result == due || (last && acted_in_.contains(run->id))) return;
    violated("{} was told that its run is '{}', it is '{}'", say(given.attempt),
             work->run_result ? to_text(*work->run_result) : "going on",
             due ? to_text(*due) : "going on");
  }

  std::set<RunId> acted_in_;
};

// 61: however a run ended, its `finally` tasks have run when it is over: each that could start did,
// unless it was cancelled by name, or all of them were stopped: by a cancel of their own, or by
// their time limit.
class FinallyRuns : public Checker {
 public:
  explicit FinallyRuns(const CheckerTools& tools) : Checker("61-finally-runs", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* told = std::get_if<ClientTold>(&fact)) return note(told->command);
    if (const auto* doubt = std::get_if<ClientInDoubt>(&fact)) return note(doubt->command);
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    for (const auto& change : picture.runs().changes()) {
      check_stopped(*commit, change);
      if (change.after->state != RunState::kRunning) check_end(picture, *change.after);
    }
  }

  // Who asked is known when the answer has come, or did not.
  void finish(const Picture&, Instant) override {
    for (const auto& [id, state] : cancelled_) {
      if (asked_.contains(id)) continue;
      violated("run {} has ended as {} and {} of its finally tasks was cancelled by nobody",
               to_text(id.run), to_text(state), say(id));
    }
  }

 private:
  void note(const core::Command& command) {
    if (const auto* cancel = std::get_if<core::CancelTask>(&command)) asked_.insert(cancel->task);
  }

  // Nothing but a request, or their timeout, stops them; and that is told.
  void check_stopped(const Committed& commit, const RowChange<RunRow>& change) {
    const RunEnding before = change.before ? change.before->finally_ending : RunEnding::kNone;
    if (change.after->finally_ending == before || change.after->waits_for_turn) return;
    bool asked = false;
    for (const Event& event : commit.events) {
      if (event.kind == EventKind::kRunCancelRequested && event.run == change.after->id) {
        asked = true;
      }
    }
    if (asked) return;
    violated("the finally tasks of run {} were stopped, and nobody asked for it",
             to_text(change.after->id));
  }

  void check_end(const Picture& picture, const RunRow& run) {
    const RunNodes* nodes = picture.nodes(run.id);
    if (nodes == nullptr || run.finally_ending != RunEnding::kNone) return;
    for (const std::uint32_t n : nodes->plan().finally) {
      const TaskId id{run.id, nodes->plan().first_task(n), nodes->plan().nodes[n].level};
      const NodeStanding& node = nodes->node(n);
      const bool ran = node.completed + node.failed > 0;
      if (ran || nodes->needs_lost(n)) continue;
      if (nodes->says(n) != ConditionSays::kYes) continue;
      if (node.cancelled > 0) {
        cancelled_.try_emplace(id, run.state);
        continue;
      }
      violated("run {} has ended as {} and '{}' of its finally tasks has not run", to_text(run.id),
               to_text(run.state), nodes->plan().node_spec(n).name);
    }
  }

  std::set<TaskId> asked_;                // to be cancelled, by name
  std::map<TaskId, RunState> cancelled_;  // that were, although nobody stopped them all
};

}  // namespace

void add_finally_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<FinallyIsLast>(tools));
  list.push_back(std::make_unique<FinallyRuns>(tools));
}

}  // namespace vortex::sim
