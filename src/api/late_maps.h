#pragma once
// Maps made at run time, as readers of the database see them: the plan of a run laid out once more,
// and the items, which follow from the params of the run or the outputs of a task.
//
// For a thread of the pool of readers.

#include <cstdint>

#include "model/plan.h"
#include "store/reader.h"

namespace vortex::api {

// Null: the definition is not kept.
store::Result<PlanPtr> plan_of_run(store::Reader& reader, const store::RunView& run);

// The same plan with the items of this node, if it is a map made at run time and they can be had.
store::Result<PlanPtr> give_items(store::Reader& reader, const store::RunView& run, PlanPtr plan,
                                  std::uint32_t node);

}  // namespace vortex::api
