#pragma once
// Levels of a DAG: a level is complete only when each of its tasks really is in a final state.
//
// With `barrier: levels` a node starts only when all lower levels are complete; what is ready
// earlier stands gated. Levels are counted by nodes not yet done, never by comparing totals.

#include "core/context.h"

namespace vortex::core {

bool level_is_open(const Run& run, std::uint32_t level);

// A node of this level is done: passes as many levels as are complete and opens the gate for them.
void on_level_progress(Context& cx, RunIx run, std::uint32_t level);

}  // namespace vortex::core
