#pragma once
// What all TCP sockets of ours have in common: their options, and whom an address lets in.
//
// Best effort: an option the system does not have is no reason to refuse a connection, and
// addresses are judged by their text alone, nothing is resolved. Any thread.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace vortex::net {

inline std::chrono::microseconds to_chrono(Duration d) { return std::chrono::microseconds(d.us); }

// What every TCP socket of ours is set to: no delay, and a dead other end is noticed in bounded
// time.
//
// Best effort: an option the system does not have is no reason to refuse a connection. Also the two
// questions that are asked of a socket without reading from it. Any thread.

// TCP_NODELAY, keep-alive probes that end within `user_timeout`, TCP_USER_TIMEOUT.
void tune_socket(int fd, Duration user_timeout);

enum class PeerState : std::uint8_t {
  kQuiet,    // open, nothing to read
  kHasData,  // open as far as can be seen, and there are bytes to read
  kGone,     // closed, half closed or reset by the other end
};
PeerState peek_peer(int fd);

// Whether an address is reachable from this machine only.
//
// Used at start-up to refuse a listener that others can reach while no tokens are set
// (RELIABILITY.md 7). Looks at the text alone: nothing is resolved.

// 127.0.0.0/8, ::1, the same as a mapped address, and the name localhost.
bool is_loopback(std::string_view address);

struct Endpoint;
// `https://host:8443`: what parse_endpoint() reads.
std::string url_of(const Endpoint& endpoint);
// Whether a token sent there can be read on the way: plain HTTP that leaves this machine.
bool is_in_clear(const Endpoint& endpoint);

}  // namespace vortex::net
