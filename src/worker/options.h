#pragma once
// What `vortex worker` was asked to be: the same for the supervisor and for its worker processes.
// Read once at the start and then fixed.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/settings.h"
#include "model/dag.h"
#include "model/ids.h"
#include "model/sync.h"
#include "net/client.h"
#include "worker/cgroup.h"
#include "worker/slot/confinement.h"

namespace vortex::worker {

// Where a worker process or a supervisor says what happens to itself, each line with its level.
// Nothing of the output of tasks. May be called on any thread; lines below the log level of the
// settings are dropped by whoever takes them.

using OwnLog = std::function<void(LogLevel, const std::string&)>;

struct WorkerOptions {
  Settings settings;
  std::vector<net::ClientConfig> controllers;
  std::string url;  // of the first controller, for tasks
  // Labels, queues, slots, resources, zone and group of every worker; id, address and version are
  // filled in by each process itself.
  WorkerInfo info;
  std::string state_dir;  // what has to be cleaned up after a kill -9 is recorded below it
  std::string work_dir;   // files of tasks, in a folder for each worker
  Containment containment = Containment::kAuto;
  Confinement confinement = {};  // of tasks
};

// One of the supervisor's worker processes.
struct ProcessOptions {
  WorkerOptions worker;
  Incarnation incarnation;
  std::string supervisor;   // its name
  std::string life;         // of the supervisor; see leftovers.h
  std::string record_path;  // see slot_record.h
  int news_fd = -1;         // to the supervisor, see spawn_worker.h; -1: there is none
  std::string program;      // this very program, to start task runners
};

// Exit codes of a worker process, for its supervisor.
constexpr int kExitSuperseded = 76;  // a newer life of the same worker is registered elsewhere

}  // namespace vortex::worker
