#pragma once
// vortex bench: measures this program on this machine. Added to the commands by src/main.cc, so
// that the product's own sources know nothing of it.

#include "cli/arguments.h"

namespace vortex::cli {

void add_bench(CommandSpec app, Command& chosen);

}  // namespace vortex::cli
