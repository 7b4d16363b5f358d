#pragma once
// A result that some thread gives once and one coroutine waits for on its own executor, not for
// ever.
//
// Giving is safe from any thread and never blocks. A wait that is cancelled or has ended leaves the
// slot to nobody: a result that comes later is dropped.

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/time.h"

namespace vortex::controller {

template <class T>
class Slot : public std::enable_shared_from_this<Slot<T>> {
 public:
  explicit Slot(const boost::asio::any_io_executor& executor) : bell_(executor) {}

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

}  // namespace vortex::controller
