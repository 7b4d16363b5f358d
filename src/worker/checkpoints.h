#pragma once
// Carries checkpoints that are too large for a report: up to the controller piece by piece while
// the task runs on, and down into a file before the next attempt starts.
//
// At most one piece of each is in memory. A call that is not answered is repeated, at every
// controller in turn, until nobody has answered for `patience`. Runs on the executor's thread over
// connections of its own, so that neither heartbeats nor output wait for it; `done` is called once
// and never from inside save() or fetch(), and not at all after the carrier is gone.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "model/sync.h"
#include "net/client.h"
#include "worker/files.h"
#include "worker/known_controllers.h"

namespace vortex::worker {

struct CarrierConfig {
  std::shared_ptr<const KnownControllers> controllers;
  WorkerId worker;
  std::function<Incarnation()> life;  // the one that is registered
  std::function<std::string()> session = [] { return std::string(); };  // its secret
};

struct Saved {
  enum class How : std::uint8_t {
    kKept,
    kChanged,  // it was written to meanwhile: what was sent is worth nothing
    kRefused,  // the controller does not take it, and the monitor log says so
    kFailed,   // nobody answered, or the attempt is not ours any more
  };
  How how = How::kFailed;
  std::string why;  // for people; empty when it was kept
};

class CheckpointCarrier {
 public:
  CheckpointCarrier(boost::asio::io_context& io, CarrierConfig config);
  ~CheckpointCarrier();
  CheckpointCarrier(const CheckpointCarrier&) = delete;
  CheckpointCarrier& operator=(const CheckpointCarrier&) = delete;

  struct Upload {
    Attempt attempt;
    Fd file;
    std::uint64_t bytes = 0;
    std::string reason;             // set: it cannot be sent at all, and only that is told
    std::function<bool()> is_same;  // the file still looks as when it was opened
    Duration patience = seconds(60);
    std::function<void(Saved)> done;
  };
  void save(Upload upload);

  struct Download {
    Attempt attempt;
    CheckpointRef uploaded;
    std::string path;                               // made anew
    std::function<void(std::string trouble)> done;  // empty: it is all there
  };
  void fetch(Download download);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace vortex::worker
