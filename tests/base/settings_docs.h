#pragma once
// docs/configuration.md, rendered from the settings table and the timing rules.
//
// The page in the repository is this text; a test compares them, so the page cannot go stale.

#include <string>

namespace vortex {

std::string settings_reference();

}  // namespace vortex
