#pragma once
// The worker's call: session, heartbeat, what it holds, what it reports, and the answer.
//
// Order within a call: refuse what is old, renew the lease, compare what is held, apply reports,
// offer room. The answer is made at the end of the step, so that it carries what this very call
// has set free; a call with nothing to be told waits, and is then the worker's offer.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

void on_sync(Context& cx, const Sync& command);

// What an answer could not carry: fails for want of a value, or goes with the next answer.
void on_unsent(Context& cx, const Unsent& command);

// Answers every call that is due in this step.
void answer_calls(Context& cx);

// A parked call that waited long enough is answered with nothing new.
void on_park_expired(Context& cx, WorkerIx ix);

// The session is over: whoever waits is told so.
void end_session(Context& cx, WorkerIx ix);

}  // namespace vortex::core
