#pragma once
// Cancelling: what is not on a worker ends at once, what is on one is asked to stop.
//
// A held task keeps its slot until the worker says that nothing of it is left, or a full worker
// lease has passed: a stop is a question, and the lease bounds how long we wait for the answer.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

void on_cancel_run(Context& cx, const CancelRun& command);
void on_pause_run(Context& cx, const PauseRun& command);
void on_cancel_task(Context& cx, const CancelTask& command);
void on_run_timer(Context& cx, RunIx ix);

// Ends or asks to stop one task, whatever state it is in.
void cancel_task(Context& cx, TaskIx ix);

// Asks the worker to stop a held task. A cancel outranks an earlier other reason.
void request_stop(Context& cx, TaskIx ix, StopReason why);

}  // namespace vortex::core
