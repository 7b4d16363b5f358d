#pragma once
// Which vortex this is: the version of the project file, and nothing else.
// Told by `vortex version`, /health, workers when they register.

#include <string_view>

namespace vortex {

std::string_view version();

}  // namespace vortex
