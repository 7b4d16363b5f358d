#pragma once
// The worker's own health endpoint (CONTRACT A05, S04): the controller probes it, people ask it.
//
// It is served by the thread that beats: when that thread is stuck, nobody answers here either.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "net/client.h"
#include "net/server.h"
#include "worker/agent_shell.h"

namespace vortex::worker {

struct HealthConfig {
  std::string listen;      // an address that is ours
  std::uint16_t port = 0;  // 0: any that is free
  std::string worker;
  Instant started_at;
  Duration beat;
  std::function<ShellState()> state;
};

std::expected<std::unique_ptr<net::Server>, std::string> serve_health(boost::asio::io_context& io,
                                                                      HealthConfig config);

// The address of this host that the controller at `towards` would see; loopback for loopback.
std::string own_address_towards(const net::Endpoint& towards);

}  // namespace vortex::worker
