#pragma once
// Asks a worker's own health endpoint whether anybody is there (CONTRACT A05).
//
// Three answers only: it answered (whatever it said), the host refused (up, nobody listening), or
// nothing came in time. Runs on an I/O thread; one connection per probe.

#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/time.h"
#include "core/command.h"

namespace vortex::controller {

boost::asio::awaitable<core::ProbeOutcome> probe_worker(std::string address, Duration limit);

}  // namespace vortex::controller
