// vortex: one program for controller, worker, command line and dashboard.

#include "bench/vortex/bench_command.h"
#include "cli/cli.h"

int main(int argc, char** argv) { return vortex::cli::run(argc, argv, {vortex::cli::add_bench}); }
