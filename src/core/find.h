#pragma once
// From ids that strangers send to positions in our tables.
// Unknown is an answer (none), never an error: reports of finished runs come in all the time.

#include "core/context.h"
#include "model/sync.h"

namespace vortex::core {

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
