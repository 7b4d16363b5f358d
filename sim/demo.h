#pragma once
// A first look for a newcomer: one DAG on five workers, two of them killed on the way.
// It is the real core and agents in a world with just two faults, not a recording.

namespace vortex::sim {

// Takes about as long as it pretends on a terminal, no time elsewhere. The program's exit code.
int run_demo();

}  // namespace vortex::sim
