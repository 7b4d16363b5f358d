#pragma once
// What of the memory must be the same after it was thrown away and loaded again, field by field.
//
// Every member of the state's structs is named in durable.cc, as compared or as left out with the
// reason; a new member does not compile until somebody has decided. Reads both states, changes
// none. For tests and the simulator: called at an instant when everything stepped is committed.

#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/rows.h"

namespace vortex::core {

// One line for each field that differs: whose it is, its name, and both values.
std::vector<std::string> durable_differences(const State& memory, const State& reloaded);

// Loads the image and compares. A load that has something to repair is a difference as well. While
// a sweep goes on in slices nothing is compared: a load begins it anew, and may end nodes at once.
std::vector<std::string> reload_differences(const State& memory, const StoreImage& image);

}  // namespace vortex::core
