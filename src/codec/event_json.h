#pragma once
// One event as one line of the monitor log (CONTRACT M06): ts, level, worker_id, event, task_id,
// data, and ours: seq, run_id. Compact, keys in that order, greppable. Append-only.

#include <string>

#include "model/event.h"

namespace vortex::codec {

// Appends the line with its newline. worker_id and task_id are null when there is none.
void write_event(std::string& out, const Event& event);

}  // namespace vortex::codec
