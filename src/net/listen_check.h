#pragma once
// Whether an address is reachable from this machine only.
//
// Used at start-up to refuse a listener that others can reach while no tokens are set
// (RELIABILITY.md 7). Looks at the text alone: nothing is resolved.

#include <string_view>

namespace vortex::net {

// 127.0.0.0/8, ::1, the same as a mapped address, and the name localhost.
bool is_loopback(std::string_view address);

}  // namespace vortex::net
