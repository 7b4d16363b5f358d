#pragma once
// A worker without processes: it speaks real `sync` over real TCP and reports every task as started
// and completed at once. For measuring the controller, and for tests that kill it.
//
// It follows the whole protocol: what is not acknowledged is sent again, a lost session is
// registered anew, an epoch is done at most once. Each agent is one coroutine on its own strand.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/time.h"
#include "model/sync.h"
#include "net/client.h"

namespace vortex::cli::bench {

struct AgentConfig {
  std::string name;
  net::Endpoint server;
  std::uint32_t slots = 500;
  Duration wait = seconds(5);
  bool works = true;  // false: it only beats, and takes nothing
};

// Called on the agent's strand.
struct AgentWatch {
  std::function<void(const Assignment&)> on_assigned = [](const Assignment&) {};
  // The controller has said that this result is durable, or that it came too late.
  std::function<void(const Attempt&)> on_acknowledged = [](const Attempt&) {};
  std::function<void(Duration)> on_answer = [](Duration) {};  // how long a call took
};

class Agent {
 public:
  Agent(boost::asio::any_io_executor executor, AgentConfig config, AgentWatch watch);

  // Until stop() is called; then what is held is given back.
  boost::asio::awaitable<void> run();
  void stop() { stopping_ = true; }

  std::uint64_t completed() const { return completed_; }
  std::uint64_t calls() const { return calls_; }
  std::uint64_t failures() const { return failures_; }

 private:
  struct Sent {
    Report report;
    std::uint64_t seq = 0;  // of the newest call that carried it
  };

  boost::asio::awaitable<void> enroll();
  boost::asio::awaitable<void> exchange();
  boost::asio::awaitable<void> pause(Duration time);
  SyncRequest next_request();
  void take(const SyncReply& reply);
  void forget_session();

  boost::asio::any_io_executor executor_;
  AgentConfig config_;
  AgentWatch watch_;
  net::Client client_;
  std::string target_;
  bool enrolled_ = false;
  Incarnation incarnation_;
  std::uint64_t seq_ = 0;
  ReplyMark ack_;
  std::vector<Sent> unacknowledged_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace vortex::cli::bench
