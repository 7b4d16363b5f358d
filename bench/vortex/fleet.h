#pragma once
// Several bench workers on a thread of their own, and a client that submits to the same controller.
//
// The constructor starts them, the destructor stops and joins. Counters may be read from any
// thread.

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "model/sync.h"
#include "net/client.h"

namespace vortex::cli::bench {

// Where the controller is, and with which token and CA; an endpoint alone is one without either.
struct Door : net::ClientConfig {
  Door() = default;
  Door(net::Endpoint at) { endpoint = std::move(at); }                  // NOLINT
  Door(const net::ClientConfig& config) : net::ClientConfig(config) {}  // NOLINT
};

// A worker without processes: it speaks real `sync` over real TCP and reports every task as started
// and completed at once. For measuring the controller, and for tests that kill it.
//
// It follows the whole protocol: what is not acknowledged is sent again, a lost session is
// registered anew, an epoch is done at most once. Each worker is one coroutine on its own strand.

struct BenchWorkerConfig {
  std::string name;
  Door server;
  std::uint32_t slots = 500;
  Duration wait = seconds(5);
  bool works = true;  // false: it only beats, and takes nothing
};

// Called on the worker's strand.
struct BenchWorkerWatch {
  std::function<void(const Assignment&)> on_assigned = [](const Assignment&) {};
  // The controller has said that this result is durable, or that it came too late.
  std::function<void(const Attempt&)> on_acknowledged = [](const Attempt&) {};
  std::function<void(Duration)> on_answer = [](Duration) {};  // how long a call took
};

class BenchWorker {
 public:
  BenchWorker(boost::asio::any_io_executor executor, BenchWorkerConfig config,
              BenchWorkerWatch watch);

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
  BenchWorkerConfig config_;
  BenchWorkerWatch watch_;
  net::Client client_;
  std::string target_;
  bool enrolled_ = false;
  Incarnation incarnation_;
  std::string session_;
  std::uint64_t seq_ = 0;
  ReplyMark ack_;
  std::vector<Sent> unacknowledged_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> failures_{0};
};

struct FleetConfig {
  Door server;
  std::uint32_t workers = 4;
  std::uint32_t slots = 500;
  Duration wait = seconds(5);
  bool works = true;
  std::string prefix = "bench";
};

class Fleet {
 public:
  Fleet(const FleetConfig& config, const BenchWorkerWatch& watch);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::uint64_t completed() const;
  std::uint64_t calls() const;
  std::uint64_t failures() const;

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<BenchWorker>> workers_;
  std::thread thread_;
};

// The id of the accepted run, or what went wrong.
std::expected<std::string, std::string> submit(const Door& server, const std::string& body,
                                               const std::string& idempotency_key = {});
// A map of no-op tasks as the body of a submit.
std::string map_run(const std::string& name, std::uint64_t tasks);
// GET, parsed by nobody: the body, or what went wrong.
std::expected<std::string, std::string> get(const Door& server, const std::string& target);

}  // namespace vortex::cli::bench
