#include "api/pause.h"

#include <chrono>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vortex::api {

boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::steady_timer timer(exchange.executor(), std::chrono::microseconds(wait.us));
  const auto first = co_await (timer.async_wait(boost::asio::use_awaitable) || exchange.closed());
  co_return first.index() == 0;
}

}  // namespace vortex::api
