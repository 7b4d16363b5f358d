#pragma once
// The state a task saves for its next attempt: small ones come in a report and stay in memory,
// large ones go to the store in pieces and only their number is remembered here.
//
// Taken only from the worker that holds the attempt. An empty one says nothing; one that is too
// large is refused with an event, and what was saved before stays.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

void take_checkpoint(Context& cx, TaskIx ix, const Checkpoint& checkpoint);

// The task needs it no more: what is kept in pieces goes.
void forget_checkpoint(Context& cx, TaskIx ix);

// A checkpoint of a held attempt was not taken: an event says so.
void on_refuse_checkpoint(Context& cx, const RefuseCheckpoint& command);
// All pieces are in the store: from now on it is the task's checkpoint.
void on_keep_checkpoint(Context& cx, const KeepCheckpoint& command);

}  // namespace vortex::core
