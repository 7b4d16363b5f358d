#pragma once
// The items of a map, counted and read without ever being laid out. Safe for every range there is.

#include <cstdint>
#include <string>

#include "model/dag.h"

namespace vortex {

// How many tasks the map makes. 0 for an empty list, a step of 0 or one that leads away from
// `last`; the one range whose count is 2^64 counts one less.
std::uint64_t count_items(const MapSpec& map);

// The item at a position below count_items(map), as its task sees it.
std::string item_text(const MapSpec& map, std::uint64_t position);

}  // namespace vortex
