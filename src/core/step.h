#pragma once
// The core's only door: one command in, its effects out.
//
// Pure: no clock, no chance but the state's own generator, no I/O. A refused command leaves the
// state exactly as it was. `now` is the term clock and never goes back.

#include "core/command.h"
#include "core/effects.h"
#include "core/state/state.h"

namespace vortex::core {

Effects step(State& state, const Command& command, Instant now);

}  // namespace vortex::core
