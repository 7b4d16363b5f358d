#pragma once
// Handing out: ready tasks to workers that have a call open and room for them.
//
// Worker side: a call takes the best of what its queues hold. Task side: a class that got ready
// tasks gives them to the least loaded fitting worker. After a step no ready task stands beside an
// offering worker that could take it.

#include "core/context.h"

namespace vortex::core {

// Keeps the worker's place among the offers true after anything about it has changed, and has it
// served in this step if it offers.
void update_offer(Context& cx, WorkerIx ix);

// The same without serving it: nothing it could take can have come up. True when it offers.
bool refresh_offer(Context& cx, WorkerIx ix);

// The worker is to be told something as soon as a call of it can be answered.
void tell_news(Context& cx, WorkerIx ix);

// How long a worker may hold this task without reporting its start.
Duration scheduled_timeout(Context& cx, const Task& task);

// Matches everything that became ready or offered itself in this step.
void dispatch(Context& cx);

}  // namespace vortex::core
