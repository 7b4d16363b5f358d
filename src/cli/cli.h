#pragma once
// The command line: reads the arguments, does what they say, answers with an exit code (UX 2).
//
// Data goes to stdout, talk to stderr. Every command is one file of this folder and adds itself to
// the tree in commands.h.

namespace vortex::cli {

int run(int argc, char** argv);

}  // namespace vortex::cli
