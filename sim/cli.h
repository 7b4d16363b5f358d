#pragma once
// The command line of vortex-sim.
// Parsing is apart from doing, so that a wrong option is refused before anything runs.

#include <span>
#include <string_view>

namespace vortex::sim {

// The arguments without the program's name; returns the exit code.
int run_cli(std::span<const std::string_view> arguments);

}  // namespace vortex::sim
