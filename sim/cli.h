#pragma once
// The command line of vortex-sim.

#include <span>
#include <string_view>

namespace vortex::sim {

// The arguments without the program's name; returns the exit code.
int run_cli(std::span<const std::string_view> arguments);

}  // namespace vortex::sim
