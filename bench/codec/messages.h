#pragma once
// Messages as a busy cluster sends them, for measuring. Built once, before the clock runs.
// Always the same for the same number, so that two runs can be compared.

#include <cstdint>
#include <string>

#include "model/event.h"
#include "model/sync.h"

namespace vortex::bench {

// As many reports as there are held tasks: one of four started, the rest completed with outputs.
SyncRequest request_with(std::uint32_t reports);

// Tasks of one map, as they leave the controller.
SyncReply reply_of_map(std::uint32_t assignments);
// As many different nodes.
SyncReply reply_of_nodes(std::uint32_t assignments);

// A DAG in its canonical form.
std::string dag_text(std::uint32_t tasks);

Event task_event();

}  // namespace vortex::bench
