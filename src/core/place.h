#pragma once
// Where a Queued task stands: ready for workers, parked by a limit or a pause, or in backoff.
//
// `in_play` of a node counts tasks that are ready or held, and never passes max_parallel: the rest
// wait in the node's parking list and move up one by one, so a wide map costs nothing while it
// waits.

#include "core/context.h"

namespace vortex::core {

enum class Turn : std::uint8_t { kBehind, kInFront };

// The task is Queued and nowhere; puts it where it belongs now. In front: it has waited before.
void place_task(Context& cx, TaskIx ix, Turn turn);

// Takes a Queued task from wherever it stands; afterwards it is nowhere and has no timer.
void unplace_task(Context& cx, TaskIx ix);

// One task of the node left play; the next parked one moves up.
void leave_play(Context& cx, RunIx run, std::uint32_t node);

// The timer of a Queued task fired: backoff over, keep-away over, or its worker never came.
void on_queued_timer(Context& cx, TaskIx ix);

}  // namespace vortex::core
