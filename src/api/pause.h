#pragma once
// Waiting inside a streamed answer without missing that the other end is gone.
// On the connection's own executor; holds nothing and blocks nobody.

#include <boost/asio/awaitable.hpp>

#include "base/time.h"
#include "net/exchange.h"

namespace vortex::api {

// False: the connection closed, or the server shuts down.
boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait);

}  // namespace vortex::api
