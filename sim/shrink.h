#pragma once
// Making a failing case small: whatever can be left out while the same invariant breaks, is.
//
// Greedy and bounded: kinds of faults first, then single faults, acts and workers, in halves and
// then one by one. The result fails in the same way, though perhaps for a simpler reason.

#include <cstdint>

#include "sim/case.h"
#include "sim/runner.h"

namespace vortex::sim {

struct Shrunk {
  Case small;
  Failure failure;  // as the small case shows it
  std::uint32_t tried = 0;
};

Shrunk shrink(const Case& failing, const Failure& failure);

}  // namespace vortex::sim
