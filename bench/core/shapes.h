#pragma once
// The DAGs that are measured, and runs of them.
//
// Plans are compiled once, outside of what is measured, and shared by all runs. Random ones come
// from fixed seeds, so that every measurement is of the same DAGs.

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/core/fleet.h"
#include "bench/core/measured_core.h"
#include "model/plan.h"

namespace vortex::bench {

enum class ShapeKind : std::uint8_t {
  kMap,      // one run with one map over all tasks
  kChain,    // runs of 1,000 nodes, each needing the one before
  kLayered,  // runs of 10 layers of 100 nodes, each needing one to three of the layer above
};

inline constexpr ShapeKind kShapes[] = {ShapeKind::kMap, ShapeKind::kChain, ShapeKind::kLayered};

struct Shape {
  ShapeKind kind = ShapeKind::kMap;
  std::uint32_t tasks = 0;  // in all runs together
  std::vector<PlanPtr> plans;
  std::uint32_t runs = 1;  // each takes the next of the plans in turn
};

std::string_view to_text(ShapeKind kind);

// Ends the program when the DAG is not valid.
PlanPtr compiled(DagSpec spec);

Shape make_shape(ShapeKind kind, std::uint32_t tasks);

FleetSize fleet_for(ShapeKind kind);

// Submits all runs of the shape, up to the last task of a map.
void submit(MeasuredCore& core, const Shape& shape);

}  // namespace vortex::bench
