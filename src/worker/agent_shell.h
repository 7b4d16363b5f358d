#pragma once
// The agent's contact with the world: it makes the calls the agent orders, wakes it in time, and
// passes on to the executor what is to be started and killed.
//
// Calls and timers are on the one thread of `io`, which does nothing that could take long, so that
// heartbeats are on time whatever the tasks do. `tell` may be called from any thread, asks the
// agent there and then, and calls `start`, `kill` and `exited` before it returns: these must not
// call back.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "agent/agent.h"
#include "base/time.h"
#include "net/client.h"
#include "net/server.h"
#include "worker/options.h"

namespace vortex::worker {

struct ShellHooks {
  std::function<void(Assignment)> start;
  std::function<void(Attempt)> kill;
  std::function<void(Instant)> renewed;          // agent::Agent::tasks_until, after each step
  std::function<void(Incarnation)> registering;  // about to be: not sent yet
  // It is: before anything is said in it. With the secret of that life.
  std::function<void(Incarnation, const std::string&)> registered;
  // A controller named others, for calls that are not the agent's.
  std::function<void(const net::ClientConfig& teller, std::string_view named)> learned =
      [](const net::ClientConfig&, std::string_view) {};
  std::function<void()> ready;  // registered for the first time
  std::function<void(agent::Exit::How)> exited;
  OwnLog log;
};

// For the worker's health endpoint.
struct ShellState {
  bool registered = false;
  bool fenced = false;
  std::uint64_t held = 0;
  Incarnation incarnation;
  Instant heard_at;  // boot clock, of the newest good answer; zero: none yet
};

class AgentShell {
 public:
  AgentShell(boost::asio::io_context& io, agent::AgentConfig config,
             const std::vector<net::ClientConfig>& controllers, ShellHooks hooks);
  ~AgentShell();
  AgentShell(const AgentShell&) = delete;
  AgentShell& operator=(const AgentShell&) = delete;

  void tell(agent::Input input);
  // On the thread of `io`. Nothing is called any more; what is told from now on is not heard.
  void close();
  ShellState state() const;  // on the thread of `io`

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with the calls under way
};

// The worker's own health endpoint (CONTRACT A05, S04): the controller probes it, people ask it.
//
// It is served by the thread that beats: when that thread is stuck, nobody answers here either.

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
