#pragma once
// Work on very many tasks of one run, done in slices so that no step is long.
//
// Two kinds: making the tasks of a map that became ready, and sweeping over all tasks after a
// cancel, a pause, a resume or a stopped map. What a slice has not reached yet is already barred
// by flags of the run or node, so slicing changes when work is done and never what is allowed.

#include "core/context.h"

namespace vortex::core {

void begin_expanding(Context& cx, RunIx run, std::uint32_t node);
void begin_sweep(Context& cx, RunIx run);

// One slice over all runs with bulk work.
void advance_bulk(Context& cx);

// Frees the memory of tasks whose runs have ended, a slice at a time.
void free_leftover(State& state);

// Makes the row of a task that does not exist yet, in state Waiting.
TaskIx make_task(Context& cx, RunIx run, std::uint32_t node, std::uint32_t index);

}  // namespace vortex::core
