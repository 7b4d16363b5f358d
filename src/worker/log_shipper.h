#pragma once
// Ships the output of tasks to the controller while they run, over a connection of its own.
//
// Pieces of one attempt go in order, each repeated with its offset until the controller has it, so
// every byte that is shipped stands in the store once. What comes faster than the rate allows is
// left out with a mark. An attempt that the controller does not want any more is dropped. The end
// of a task waits for its output only so long; what is left is shipped behind its back once a
// controller answers again. Runs on the executor's thread; the other controllers are tried when one
// does not answer.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "net/client.h"
#include "worker/log_sink.h"
#include "worker/own_log.h"

namespace vortex::worker {

struct ShipperConfig {
  std::vector<net::ClientConfig> controllers;
  std::size_t buffer_bytes_max = 1024 * 1024;        // per attempt
  std::uint64_t bytes_per_second = 4 * 1024 * 1024;  // per attempt
  Duration gather = millis(200);                     // small pieces wait this long for more
  Duration flush_limit = seconds(5);                 // the end of a task waits so long at most
  Duration keep_for = seconds(600);                  // what could not be shipped by then is let go
  std::size_t kept_bytes_max = 16 * 1024 * 1024;     // of all ended tasks together
  OwnLog log = [](LogLevel, const std::string&) {};
};

class LogShipper : public LogSink {
 public:
  LogShipper(boost::asio::io_context& io, ShipperConfig config);
  ~LogShipper() override;
  LogShipper(const LogShipper&) = delete;
  LogShipper& operator=(const LogShipper&) = delete;

  void write(Attempt attempt, std::string_view bytes) override;
  void close(Attempt attempt, std::function<void()> flushed) override;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace vortex::worker
