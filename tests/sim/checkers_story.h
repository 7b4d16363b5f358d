#pragma once
// A history written by hand, commit by commit, to see what the checkers say of it.
//
// The verbs (submit, grant, lose...) tell the story as a correct controller would; `task` and
// `rows` give the row itself, to tell it wrong. Nothing is told before `commit`. Unless a test
// takes it over, the states of workers and machines follow from what is held.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/state/policy.h"
#include "model/dag.h"
#include "model/plan.h"
#include "model/rows.h"
#include "sim/check/checkers.h"
#include "sim/history.h"

namespace vortex::sim {

// A node of a DAG: its name, then what it needs.
NodeSpec node(std::string name, std::vector<std::string> needs = {},
              TriggerRule trigger = TriggerRule::kAllSuccess);
DagSpec dag(std::vector<NodeSpec> nodes);
core::Policy
story_policy();  // lease 10 s, 1 retry, crash limit 2, brake from 4 workers, 20 live runs

class Story {
 public:
  Story();

  core::Policy policy = story_policy();
  Instant now{1'000'000'000};  // of the term clock and of the world alike
  bool statuses_follow = true;

  void tell(const Fact& fact);
  void pass(Duration d) { now = now + d; }
  void commit();

  RunId submit(const DagSpec& spec, const std::string& key = {});
  WorkerId join(const std::string& name, std::uint32_t slots = 4,
                const std::string& machine = "m1");
  void queue(TaskId id) { task(id).state = TaskState::kQueued; }
  void grant(TaskId id, const WorkerId& worker);
  void start(TaskId id);
  void complete(TaskId id);
  void fail(TaskId id);  // its own fault; tried again
  void die(TaskId id);   // its own fault; for the last time
  void skip(TaskId id) { task(id).state = TaskState::kSkipped; }
  void cancel(TaskId id);
  void revive(TaskId id);
  RecoveryId lose(const WorkerId& worker, Evidence evidence);
  void end_run(RunId id, RunState state) { run(id).state = state; }
  void forget(RunId id) { next_.expired.push_back(id); }

  // Submitted, queued, granted, started and committed: one task that runs on a worker.
  TaskId running_task(const WorkerId& worker, const DagSpec& spec = dag({node("a")}));

  TaskRow& task(TaskId id);
  RunRow& run(RunId id);
  WorkerRow& worker(const WorkerId& id);
  RowBatch& rows() { return next_.rows; }
  void end_attempt(TaskId id, Verdict verdict);
  void put_back(TaskId id);  // to the queue, under a new epoch
  Event& event(EventKind kind, std::optional<TaskId> about = {});
  // Where exactly it runs can be told wrong by the caller.
  std::uint64_t start_process(TaskId id, std::optional<Epoch> epoch = {});
  void end_process(std::uint64_t process) { tell(ProcessEnded{process}); }
  void hear(const WorkerId& id);

  // The history ends here.
  std::set<std::string> broken();
  // What was broken and how, one a line; empty for a clean history.
  std::string report();

 private:
  void let_statuses_follow();
  void finish();

  std::unique_ptr<Checkers> checkers_;
  bool finished_ = false;
  Term term_{1};
  Committed next_;
  std::map<TaskId, TaskRow> tasks_;
  std::map<RunId, RunRow> runs_;
  std::map<WorkerId, WorkerRow> workers_;
  std::map<MachineId, bool> machines_;
  std::set<TaskId> changed_tasks_;
  std::set<RunId> changed_runs_;
  std::set<WorkerId> changed_workers_;
  std::uint64_t next_run_ = 1;
  std::uint64_t next_recovery_ = 1;
  std::uint64_t next_process_ = 1;
};

}  // namespace vortex::sim
