#pragma once
// All that a worker needs to know about a task to run one attempt of it.
//
// The controller makes it from the plan when an assignment goes out on the wire; the worker never
// sees a whole plan. On the wire: append-only.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/dag.h"

namespace vortex {

struct MapItem {
  std::uint32_t index = 0;  // within its map
  std::string item;
  std::string as = "item";  // what expressions call it
  friend bool operator==(const MapItem&, const MapItem&) = default;
};

struct WorkOrder {
  std::string task_text;  // the id as people see it: r42-L1-7
  std::string dag;
  std::string task;  // the name of its node
  CommandLine command;
  std::optional<MapItem> map;
  Resources resources;
  std::vector<std::string> outputs;  // names it must write
  std::string params;                // of the run, as JSON
  // Outputs of the tasks that its expressions refer to, as one JSON object by name of the task;
  // empty: none.
  std::string inputs;
};

}  // namespace vortex
