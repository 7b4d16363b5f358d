#pragma once
// Which worker may ever run which task, from what both say of themselves and nothing else.
//
// Whether the worker is well, wanted and free is another matter. Slow on purpose: it looks through
// the lists as they stand and remembers nothing.

#include "model/dag.h"
#include "model/sync.h"

namespace vortex::sim {

// What the worker lacks for this task; null: nothing.
const char* lacks(const WorkerInfo& worker, const Requirements& need);

}  // namespace vortex::sim
