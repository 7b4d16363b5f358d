#pragma once
// The command line: reads the arguments, does what they say, answers with an exit code (UX 2).
//
// Data goes to stdout, talk to stderr. Every command is one file of this folder and adds itself to
// the tree in commands.h.

#include <vector>

#include "cli/arguments.h"

namespace vortex::cli {

// `more`: commands beside those of src/cli.
int run(int argc, char** argv, const std::vector<AddCommand>& more = {});

}  // namespace vortex::cli
