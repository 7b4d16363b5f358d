#pragma once
// A fingerprint of the whole state. Two states with the same digest behave the same from here on;
// tests compare it to show that a refused command changed nothing.

#include <cstdint>

#include "core/state/state.h"

namespace vortex::core {

std::uint64_t digest(const State& state);

}  // namespace vortex::core
