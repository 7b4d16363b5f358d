#pragma once
// The newest committed events, kept in memory for streams that follow them.
//
// Published by the engine after each commit, read by any number of coroutines on any I/O thread. A
// reader that falls behind what is kept is told to read the store first; nobody can make it grow.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/backend.h"
#include "base/time.h"

namespace vortex::controller {

class EventHub : public api::EventFeed {
 public:
  explicit EventHub(std::size_t bytes_max = std::size_t{4} << 20U) : bytes_max_(bytes_max) {}

  // Blocks come in order; a hole between two means that a commit in between was not ours.
  void publish(std::uint64_t first_seq, std::uint64_t last_seq, std::string lines);
  // What was committed before this controller led.
  void begin_at(std::uint64_t last_seq);

  boost::asio::awaitable<Next> next(std::uint64_t after, Duration wait) override;
  std::uint64_t last_seq() const override;

 private:
  // Owned by who sleeps: a timer must not outlive the I/O it belongs to, and the hub does.
  using Bell = std::weak_ptr<boost::asio::steady_timer>;
  Next look(std::uint64_t after) const;  // with guard_ held

  const std::size_t bytes_max_;
  mutable std::mutex guard_;
  std::deque<Lines> blocks_;
  std::size_t bytes_ = 0;
  std::uint64_t last_seq_ = 0;
  std::vector<Bell> sleepers_;
};

}  // namespace vortex::controller
