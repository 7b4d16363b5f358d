#pragma once
// Keeps the worker processes of one host at their number, and tells the controller the truth about
// those that died.
//
//   waiting --start--> running --end--> cleaning --nothing left--> waiting | over
//                                          |
//                                          +-- PROOF to the controller, on another thread
//
// How its processes began and ended goes through the controller into the monitor log (journal.h).
// It does nothing else that could fail: no HTTP, no tasks, no database on its thread. Nothing of a
// dead worker's tasks is alive when the proof goes out. SIGTERM and SIGINT are passed on, a second
// one as well; it returns when every worker has left.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "worker/options.h"
#include "worker/own_log.h"

namespace vortex::worker {

struct SupervisorOptions {
  WorkerOptions worker;
  std::string name;            // worker ids are NAME-1, NAME-2, ...
  bool name_is_given = false;  // false: another one may be used when it is taken
  std::uint32_t count = 1;
  std::string program;                 // this very program
  std::vector<std::string> arguments;  // with which a worker process is started, before our own
  OwnLog log;
};

// Returns the exit code: 0 all left as asked, 1 none could be kept alive. SIGTERM, SIGINT and
// SIGCHLD must be blocked by the caller, before any thread was started.
int run_supervisor(SupervisorOptions options);

}  // namespace vortex::worker
