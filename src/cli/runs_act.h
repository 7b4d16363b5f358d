#pragma once
// The commands of `vortex runs` that change a run: cancel, pause, resume, retry, rerun.
// Added to the tree by runs_command.cc; nothing else uses this.

#include "cli/command_spec.h"

namespace vortex::cli {

void add_run_acts(CommandSpec runs, Command& chosen);

}  // namespace vortex::cli
