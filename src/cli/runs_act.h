#pragma once
// The commands of `vortex runs` that change a run: cancel, pause, resume, retry, rerun.
// Added to the tree by runs_command.cc; nothing else uses this.

#include <CLI/App.hpp>

#include "cli/context.h"

namespace vortex::cli {

void add_run_acts(CLI::App& runs, Command& chosen);

}  // namespace vortex::cli
