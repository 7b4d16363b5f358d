#pragma once
// One worker process: the agent on a thread with a fixed schedule, the executor and the shipping of
// output on another, signals on the main one.
//
// SIGTERM: takes nothing new, lets running tasks finish up to the shutdown timeout, says goodbye
// and exits 0. A second SIGTERM or the end of that time gives back what still runs. When the
// supervisor dies the process is sent SIGTERM by the kernel and leaves the same way.

#include "worker/options.h"

namespace vortex::worker {

// Returns the exit code. Signals SIGTERM and SIGINT must be blocked by the caller.
int run_worker_process(ProcessOptions options, OwnLog log);

}  // namespace vortex::worker
