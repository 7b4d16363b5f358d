// vortex: one program for controller, worker, command line and dashboard.

#include "cli/cli.h"

int main(int argc, char** argv) { return vortex::cli::run(argc, argv); }
