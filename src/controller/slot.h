#pragma once
// A result that some thread gives once and one coroutine waits for on its own executor.
//
// Giving is safe from any thread and never blocks. A wait that is cancelled leaves the slot to
// nobody: a result that comes later is dropped.

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vortex::controller {

template <class T>
class Slot : public std::enable_shared_from_this<Slot<T>> {
 public:
  explicit Slot(const boost::asio::any_io_executor& executor)
      : bell_(executor, boost::asio::steady_timer::time_point::max()) {}

  void give(T value) {
    boost::asio::post(bell_.get_executor(),
                      [self = this->shared_from_this(), value = std::move(value)]() mutable {
                        self->value_.emplace(std::move(value));
                        self->bell_.cancel();
                      });
  }

  boost::asio::awaitable<T> take() {
    // Cancellation by `||` ends the wait without a value: the next wait then throws.
    while (!value_) {
      co_await bell_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    co_return std::move(*value_);
  }

 private:
  boost::asio::steady_timer bell_;
  std::optional<T> value_;
};

}  // namespace vortex::controller
