#pragma once
// What a worker (or any agent) says about itself when it registers.
// It holds for one life of the worker: a change needs a new incarnation.

#include <cstdint>
#include <string>
#include <vector>

#include "model/dag.h"
#include "model/ids.h"

namespace vortex {

struct WorkerInfo {
  WorkerId id;
  MachineId machine;
  std::string name;
  std::string address;  // where its health endpoint listens; empty: it cannot be probed
  std::string zone;
  std::string group;
  std::string version;
  std::string metadata;
  std::vector<std::string> queues{"default"};  // sorted, unique
  Labels labels;
  std::vector<std::string> runtimes;  // sorted, unique
  std::uint32_t slots = 1;
  Resources resources;
  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

}  // namespace vortex
