#pragma once
// All that a worker needs to know about a task to run one attempt of it.
//
// The controller makes it from the plan when an assignment goes out on the wire, with every
// expression replaced by its value; the worker never sees a whole plan and evaluates nothing.
// On the wire: append-only.

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
  std::string as = "item";  // what expressions call it; not on the wire
  friend bool operator==(const MapItem&, const MapItem&) = default;
};

struct WorkOrder {
  std::string task_text;  // the id as people see it: r42-L1-7
  std::string dag;
  std::string task;     // the name of its node
  CommandLine command;  // its argv is whole: a shell stands in front
  std::optional<MapItem> map;
  Resources resources;
  std::vector<std::string> outputs;  // names it must write
  bool report_output = false;        // say how much it has written: output counts as life
};

}  // namespace vortex
