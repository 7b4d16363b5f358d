#pragma once
// Short ways to write specifications in tests, and the laws that every compiled plan obeys.
// They build the smallest specification that shows one thing, so that a test reads as its claim.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "model/dag.h"
#include "model/plan.h"

namespace vortex::testing {

// The ends of the numbers that a range can have.
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

inline NodeSpec node(std::string name, std::vector<std::string> needs = {}) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.needs = std::move(needs);
  return spec;
}

inline NodeSpec mapped(std::string name, MapSpec map) {
  NodeSpec spec = node(std::move(name));
  spec.map = std::move(map);
  return spec;
}

inline MapSpec range(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  MapSpec map;
  map.over = MapRange{.first = first, .last = last, .step = step};
  return map;
}

inline MapSpec list(std::vector<std::string> items) {
  MapSpec map;
  map.over = std::move(items);
  return map;
}

inline DagSpec dag(std::vector<NodeSpec> nodes) {
  DagSpec spec;
  spec.name = "dag";
  spec.nodes = std::move(nodes);
  return spec;
}

// A line of nodes n0, n1, ..., each needing the one before it.
DagSpec chain(std::uint32_t nodes);

// The first law that the plan breaks, in words; empty when it is sound.
std::string broken_law(const DagPlan& plan);

}  // namespace vortex::testing
