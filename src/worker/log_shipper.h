#pragma once
// Ships the output of tasks to the controller while they run, over a connection of its own.
//
// Pieces of one attempt go in order, each repeated with its offset until the controller has it, so
// every byte that is shipped stands in the store once. What comes faster than the rate allows is
// left out with a mark. An attempt that the controller does not want any more is dropped. The end
// of a task waits for its output only so long; what is left is shipped behind its back once a
// controller answers again. Runs on the executor's thread; the other controllers are tried when one
// does not answer.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "model/sync.h"
#include "net/client.h"
#include "worker/known_controllers.h"
#include "worker/options.h"

namespace vortex::worker {

// Where the output of tasks goes while they run. Nothing here may block or fail: output that can
// not be kept is left out, and a task never waits for whoever reads it.
// All calls are made on the executor's thread.

class LogSink {
 public:
  LogSink() = default;
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  virtual ~LogSink() = default;

  virtual void write(Attempt attempt, std::string_view bytes) = 0;
  // No more will come. `flushed` is called once, when all has arrived or was given up.
  virtual void close(Attempt attempt, std::function<void()> flushed) = 0;
};

// The output of one attempt on its way to the controller: bounded, in order, cut with a mark.
//
// Offsets count what is shipped, marks included, so the pieces that the controller gets follow each
// other without a gap whatever was left out here. A piece stays until it is known to have arrived;
// sent again it has the same offset and the same bytes. Pure: no I/O, no clock.

class LogBuffer {
 public:
  // At most so many bytes wait here; the oldest of them are left out for newer ones.
  explicit LogBuffer(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void write(std::string_view bytes);

  struct Piece {
    std::uint64_t offset = 0;
    std::string_view data;  // valid until the next write, take or arrived
  };
  // The next piece to send. The same one until arrived() is called.
  Piece take(std::size_t bytes_max);
  void arrived();

  bool empty() const { return flying_.empty() && waiting_.empty() && left_out_ == 0; }
  std::size_t size() const { return flying_.size() + waiting_.size(); }
  std::uint64_t left_out() const { return left_out_in_all_; }

 private:
  std::size_t bytes_max_;
  std::uint64_t offset_ = 0;  // of the first byte of flying_
  std::string flying_;        // taken, not yet arrived
  std::string waiting_;
  std::uint64_t left_out_ = 0;  // between flying_ and waiting_, not yet marked
  std::uint64_t left_out_in_all_ = 0;
};

struct ShipperConfig {
  std::shared_ptr<const KnownControllers> controllers;
  std::function<std::string()> session = [] { return std::string(); };  // of the present life
  std::size_t buffer_bytes_max = 1024 * 1024;                           // per attempt
  std::uint64_t bytes_per_second = 4 * 1024 * 1024;                     // per attempt
  Duration gather = millis(200);                  // small pieces wait this long for more
  Duration flush_limit = seconds(5);              // the end of a task waits so long at most
  Duration keep_for = seconds(600);               // what could not be shipped by then is let go
  std::size_t kept_bytes_max = 16 * 1024 * 1024;  // of all ended tasks together
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
