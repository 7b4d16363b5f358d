#pragma once
// Who listens on a TCP port of this machine, for messages. What other users' processes hold is
// often not for us to see: then nothing is said. Reads /proc only.

#include <cstdint>
#include <string>

namespace vortex::cli::local {

// "vortex (process 4711)"; empty: nobody, or not known.
std::string port_holder(std::uint16_t port);

}  // namespace vortex::cli::local
