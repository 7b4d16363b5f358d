#pragma once
// One number for everything in a specification: equal specifications, equal numbers.
// Order counts wherever the specification keeps an order.

#include <cstdint>

#include "model/dag.h"

namespace vortex {

std::uint64_t digest_of(const DagSpec& spec);

}  // namespace vortex
