#pragma once
// Several bench agents on a thread of their own, and a client that submits to the same controller.
//
// The constructor starts them, the destructor stops and joins. Counters may be read from any
// thread.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "cli/bench/agent.h"

namespace vortex::cli::bench {

struct FleetConfig {
  net::Endpoint server;
  std::uint32_t agents = 4;
  std::uint32_t slots = 500;
  Duration wait = seconds(5);
  bool works = true;
  std::string prefix = "bench";
};

class Fleet {
 public:
  Fleet(const FleetConfig& config, const AgentWatch& watch);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::uint64_t completed() const;
  std::uint64_t calls() const;
  std::uint64_t failures() const;

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::thread thread_;
};

// The id of the accepted run, or what went wrong.
std::expected<std::string, std::string> submit(const net::Endpoint& server, const std::string& body,
                                               const std::string& idempotency_key = {});
// A map of no-op tasks as the body of a submit.
std::string map_run(const std::string& name, std::uint64_t tasks);
// GET, parsed by nobody: the body, or what went wrong.
std::expected<std::string, std::string> get(const net::Endpoint& server, const std::string& target);

}  // namespace vortex::cli::bench
