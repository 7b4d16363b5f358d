#pragma once
// From a submitted DAG to a live run, and from a finished run out of memory.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

void on_submit(Context& cx, const SubmitRun& command);
void on_forget_run(Context& cx, const ForgetRun& command);

// An empty live run of this plan: nodes pending, no task made. Used by submit and by load.
RunIx open_run(State& state, RunId id, PlanPtr plan);

// Frees everything that the runs that ended in this step held in memory. Their rows must have been
// made before.
void close_ended_runs(Context& cx);

}  // namespace vortex::core
