#pragma once
// Taking a worker's tasks away: one step, so one transaction, for the worker's state, all its
// tasks and the ledger. Recovery never looks at anything but the tasks the worker holds right now.

#include "core/command.h"
#include "core/context.h"
#include "model/states.h"

namespace vortex::core {

// This life of the worker is over, by this evidence: everything it holds is taken away.
// By a hint, tasks marked exclusive stay with it, and so does its session, until stronger evidence.
void lose_worker(Context& cx, WorkerIx ix, Evidence evidence);

// It takes no new work; what runs goes on. Repeating it is harmless.
void begin_drain(Context& cx, WorkerIx ix);

// It has said goodbye: INACTIVE at once, its partition leases free, nobody blamed.
void leave_on_purpose(Context& cx, WorkerIx ix);

}  // namespace vortex::core
