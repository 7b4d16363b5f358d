#pragma once
// What a worker reports of an attempt, accepted only from the holder of the current epoch, and the
// clocks that run while a worker holds a task.

#include "core/context.h"
#include "model/sync.h"

namespace vortex::core {

// Counts once per (task, epoch): a repeat or a stale word changes nothing, and the worker is told.
void apply_report(Context& cx, WorkerIx worker, const Report& report);

// The attempt runs from now on; nothing when it does already.
void start_attempt(Context& cx, TaskIx ix);

// Somebody who knows says that the attempt has started, if it is still the worker's.
void note_started(Context& cx, WorkerIx worker, const Attempt& attempt);

// Sets the timer of a running task to the nearest of its clocks.
void watch_running(Context& cx, TaskIx ix);

// A stop is done: counts as its reason says.
void end_stopped(Context& cx, TaskIx ix);

// The timer of a held task fired: a stop was not confirmed, or one of its clocks ran out.
void on_held_timer(Context& cx, TaskIx ix);

}  // namespace vortex::core
