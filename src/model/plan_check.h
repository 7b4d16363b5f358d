#pragma once
// Everything that can be said against a specification without looking at its graph: how much of
// it there is, its names, and the values of its nodes.

#include <optional>

#include "model/plan.h"

namespace vortex {

// Brings what has no order of its own, labels and named resources, into the one canonical order.
void sort_names(DagSpec& spec);

// The first thing that is wrong, in the order: sizes, names, values, numbers of tasks.
std::optional<DagError> find_fault(const DagSpec& spec, const DagLimits& limits);

}  // namespace vortex
