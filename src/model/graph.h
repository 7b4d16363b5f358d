#pragma once
// The needs of a DAG as a graph of indexes, and the two questions asked of it: is there a cycle,
// and how deep is each node.
//
// Nothing here recurses: a chain may be as long as the limits allow, the stack may not.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "model/plan.h"

namespace vortex {

// needs[i] are the indexes of the nodes that node i needs, in the order of the specification.
// Precondition: the names are valid and distinct.
using Needs = std::vector<std::vector<std::uint32_t>>;
std::expected<Needs, DagError> resolve_needs(const DagSpec& spec);

// needed_by[i] are the nodes that need node i, lowest first.
Needs turn_around(const Needs& needs);

// The level of each node: 0 without needs, else one above the highest of its needs.
std::expected<std::vector<std::uint32_t>, DagError> find_levels(const DagSpec& spec,
                                                                const Needs& needs,
                                                                const Needs& needed_by);

}  // namespace vortex
