#pragma once
// Waiting inside a streamed answer without missing that the other end is gone.

#include <boost/asio/awaitable.hpp>

#include "base/time.h"
#include "net/exchange.h"

namespace vortex::api {

// False: the connection closed, or the server shuts down.
boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait);

}  // namespace vortex::api
