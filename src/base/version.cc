#include "base/version.h"

namespace vortex {

std::string_view version() { return VX_VERSION; }

}  // namespace vortex
