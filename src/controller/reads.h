#pragma once
// The pool of threads that read from the store, each with a connection of its own.
//
// A slow read never holds up the engine or an I/O thread. The number of threads bounds how many
// reads run at once; the others wait their turn.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/assert.h"
#include "base/time.h"
#include "store/store.h"

namespace vortex::controller {

// A result that some thread gives once and one coroutine waits for on its own executor, not for
// ever.
//
// Giving is safe from any thread and never blocks; the executor must be a strand, or run on one
// thread. A wait that is cancelled or has ended leaves the
// handoff to nobody: a result that comes later is dropped.

template <class T>
class Handoff : public std::enable_shared_from_this<Handoff<T>> {
 public:
  explicit Handoff(const boost::asio::any_io_executor& executor) : bell_(executor) {}

  void give(T value) {
    boost::asio::post(bell_.get_executor(),
                      [self = this->shared_from_this(), value = std::move(value)]() mutable {
                        self->value_.emplace(std::move(value));
                        self->bell_.cancel();
                      });
  }

  // Unset: nothing was given in time.
  boost::asio::awaitable<std::optional<T>> take(Duration limit) {
    bell_.expires_after(std::chrono::microseconds(limit.us));
    if (!value_) co_await bell_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return std::move(value_);
  }

 private:
  boost::asio::steady_timer bell_;
  std::optional<T> value_;
};

// For a result that is made with what the waiting coroutine owns: waits until it is there, also
// when the coroutine is cancelled meanwhile.
template <class T>
boost::asio::awaitable<T> take_surely(std::shared_ptr<Handoff<T>> handoff) {
  constexpr Duration kUntilDone = hours(24 * 365);
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  auto given = co_await handoff->take(kUntilDone);
  VX_ASSERT(given.has_value());
  co_await boost::asio::this_coro::reset_cancellation_state(
      boost::asio::enable_terminal_cancellation());
  co_return std::move(*given);
}

class Reads {
 public:
  Reads(store::Store& store, std::uint32_t threads);
  ~Reads();
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

  using Read = std::function<void(store::Reader&)>;
  // The error is only about getting a connection; what `read` finds, it keeps itself.
  boost::asio::awaitable<store::Result<void>> run(Read read);
  void stop();

 private:
  store::Result<void> run_here(const Read& read);
  store::Result<std::unique_ptr<store::Reader>> take();
  void give_back(std::unique_ptr<store::Reader> reader);

  store::Store& store_;
  std::mutex guard_;
  std::vector<std::unique_ptr<store::Reader>> free_;
  boost::asio::thread_pool threads_;
};

}  // namespace vortex::controller
