#pragma once
// The threads that read large documents of clients: DAGs, params, big reports of workers.
//
// A document costs time in proportion to its size, and none of it may be an I/O thread's. Clients
// take turns, so that one that sends many waits behind itself only; workers go first, and one more
// thread is theirs alone. What waits is bounded, in all and for each client. The threads run at low
// priority: heartbeats go before them.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "api/backend.h"

namespace vortex::controller {

class Documents {
 public:
  Documents(std::uint32_t threads, std::uint32_t waiting_max);
  ~Documents();
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // False: too much waits, and `work` was not run. Otherwise returns when it is done, whatever
  // happens to the connection: `work` may use what its caller owns.
  boost::asio::awaitable<bool> run(api::Backend::Turn turn, std::function<void()> work);
  // When nobody waits any more.
  void stop();

 private:
  using Job = std::function<void()>;

  bool add(api::Backend::Turn turn, Job job);
  enum class Whose : std::uint8_t { kWorkersOnly, kAll };
  void work_on(Whose whose);
  bool has_work(Whose whose) const;  // with the lock
  Job next();                        // with the lock, when something waits

  const std::size_t waiting_max_;
  std::mutex guard_;
  std::condition_variable bell_;
  std::deque<Job> of_workers_;
  std::map<std::string, std::deque<Job>> of_clients_;  // none is empty
  std::deque<std::string> turns_;                      // each of them once, the next one first
  std::size_t waiting_ = 0;                            // of clients
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace vortex::controller
