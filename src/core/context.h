#pragma once
// What every part of one step shares: the state, the time, and the effects being gathered.
//
// Rows are not written where things change: a change marks the thing dirty, and the end of the
// step writes each dirty thing once, so many changes in one step cost one row.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/effects.h"
#include "core/state/state.h"
#include "model/sync.h"

namespace vortex::core {

inline std::int8_t joined_priority(int above, int own) {
  return static_cast<std::int8_t>(std::clamp(above + own, -100, 100));
}

class Context {
 public:
  Context(State& s, Instant at) : state(s), now(at), judged(s.clock.judged(at)) {}

  State& state;
  const Instant now;
  const Judged judged;
  Effects fx;

  Task& task(TaskIx ix) { return state.tasks[ix]; }
  Run& run(RunIx ix) { return state.runs[ix]; }
  Worker& worker(WorkerIx ix) { return state.workers[ix]; }
  Schedule& schedule(ScheduleIx ix) { return state.schedules[ix]; }
  Run& run_of(const Task& task) { return state.runs[task.run]; }
  NodeRun& node_of(const Task& task) { return state.runs[task.run].nodes[task.node]; }
  const NodeSpec& spec_of(const Task& task) {
    return state.runs[task.run].plan->node_spec(task.node);
  }
  TaskId id_of(const Task& task) {
    const Run& run = state.runs[task.run];
    return {run.id, task.index, run.plan->nodes[task.node].level};
  }
  // Higher first: that of the node, and of all tasks above that its run is a child of.
  std::int8_t priority_of(const Task& task) {
    const Run& run = state.runs[task.run];
    return joined_priority(run.priority, run.plan->node_spec(task.node).priority);
  }
  Attempt attempt_of(const Task& task) { return {id_of(task), task.epoch}; }

  void touch(TaskIx ix);
  void touch(RunIx ix);
  void touch(WorkerIx ix);
  void touch(ScheduleIx ix);
  void touch(LimitIx ix);
  void touch(const MachineId& id);
  // What was touched in this step and is now forgotten must not be written.
  void forget_row(WorkerIx ix);
  void forget_row(const MachineId& id);
  void touch_counters() { counters_dirty_ = true; }
  // A task came into being (from: unset) or changed its state: the totals follow.
  void count(std::optional<TaskState> from, TaskState to);

  // Who the event is about; what is unset stays empty.
  struct About {
    WorkerIx worker;
    TaskIx task;
    RunIx run;
  };
  void event(EventKind kind, About about, std::initializer_list<EventField> data = {},
             Severity severity = Severity::kInfo);
  // About a worker that may never have registered.
  void event_of(WorkerId worker, EventKind kind, std::vector<EventField> data, Severity severity);

  void measure(Sample::Kind kind, const char* label, Duration value) {
    fx.samples.push_back({kind, label, value});
  }

  void reply(RequestId request, ReplyBody body);
  void refuse(RequestId request, RefusalKind kind, std::string detail = {});

  // Nodes whose last open task ended in this step, and runs whose last node did: worked off in
  // a loop at the end of the step, because one end can cause thousands.
  struct NodeRef {
    RunIx run;
    std::uint32_t node = 0;
  };
  std::vector<NodeRef> nodes_ended;
  std::vector<RunIx> runs_ended;
  std::vector<RunIx> runs_closed;  // of these, the ones that have: they leave memory
  std::uint32_t turns_left = 100;  // how many runs may still begin in this step
  std::vector<TaskIx> starting;    // sub-DAGs whose runs are to be made in this step
  // Whether another worker could take a task of this class that leaves this worker: one answer
  // serves all tasks that come back together.
  std::map<std::pair<ClassIx, WorkerIx>, bool> others_fit;
  std::optional<ProcessEnd> process_end;  // how the process ended that this step is about
  // While a state is loaded: the live runs that are children, by their attempts.
  std::map<std::pair<std::pair<RunId, std::uint32_t>, Epoch>, RunId> children_of;
  bool restoring = false;  // a run is rebuilt from its rows: what follows from them was told before
  bool reclaiming = false;            // a worker is lost, and its tasks are taken back
  bool may_make_runs = true;          // schedules may
  const KeptResults* kept = nullptr;  // what the run that is made in this step keeps of another
  RunIx keeping;                      // that run
  bool fleet_shrank = false;          // a worker left, or will take no more work
  std::vector<WorkerIx> calling;      // workers with a call to answer or something new to be told

  // Makes the rows of everything touched.
  void write_rows();

 private:
  void write_run(RunIx ix);
  void write_task(TaskIx ix);
  void write_worker(WorkerIx ix);

  std::vector<TaskIx> tasks_;
  std::vector<RunIx> runs_;
  std::vector<WorkerIx> workers_;
  std::vector<ScheduleIx> schedules_;
  std::vector<LimitIx> limits_;
  std::vector<MachineId> machines_;
  bool counters_dirty_ = false;
};

// From ids that strangers send to positions in our tables.
// Unknown is an answer (none), never an error: reports of finished runs come in all the time.

inline TaskIx find_task(const State& state, TaskId id) {
  const RunIx run_ix = state.runs.find(id.run);
  if (!run_ix.valid()) return TaskIx::none();
  const Run& run = state.runs[run_ix];
  return id.index < run.tasks.size() ? run.tasks[id.index] : TaskIx::none();
}

// Why a run is not in memory: it ended, or there never was one.
inline RefusalKind absent_run(const State& state, RunId id) {
  const bool was_given = id.value > 0 && id < state.counters.next_run;
  return was_given ? RefusalKind::kRunNotLive : RefusalKind::kUnknownRun;
}

// The task, if this worker holds exactly this epoch of it.
inline TaskIx find_attempt(const Context& cx, const Attempt& attempt, WorkerIx worker) {
  const TaskIx ix = find_task(cx.state, attempt.task);
  if (!ix.valid()) return TaskIx::none();
  const Task& task = cx.state.tasks[ix];
  const Grant* grant = task.grant();
  if (grant == nullptr || grant->worker != worker || task.epoch != attempt.epoch) {
    return TaskIx::none();
  }
  return ix;
}

}  // namespace vortex::core
