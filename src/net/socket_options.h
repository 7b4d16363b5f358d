#pragma once
// What every TCP socket of ours is set to: no delay, and a dead other end is noticed in bounded
// time.
//
// Best effort: an option the system does not have is no reason to refuse a connection. Also the two
// questions that are asked of a socket without reading from it. Any thread.

#include <cstdint>

#include "base/time.h"

namespace vortex::net {

// TCP_NODELAY, keep-alive probes that end within `user_timeout`, TCP_USER_TIMEOUT.
void tune_socket(int fd, Duration user_timeout);

enum class PeerState : std::uint8_t {
  kQuiet,    // open, nothing to read
  kHasData,  // open as far as can be seen, and there are bytes to read
  kGone,     // closed, half closed or reset by the other end
};
PeerState peek_peer(int fd);

}  // namespace vortex::net
