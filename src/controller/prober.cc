#include "controller/prober.h"

#include <utility>

#include <boost/asio/this_coro.hpp>

#include "net/client.h"

namespace vortex::controller {

namespace asio = boost::asio;

asio::awaitable<core::ProbeOutcome> probe_worker(std::string address, Duration limit) {
  const auto endpoint = net::parse_endpoint(address, 80);
  if (!endpoint) co_return core::ProbeOutcome::kTimedOut;
  net::ClientConfig config;
  config.endpoint = *endpoint;
  config.connect_limit = limit;
  net::Client client(co_await asio::this_coro::executor, config);
  net::Call call;
  call.target = "/health";
  call.limit = limit;
  const auto answer = co_await client.send(std::move(call));
  if (answer) co_return core::ProbeOutcome::kAnswered;
  const bool refused = answer.error().fault == net::CallFault::kRefused;
  co_return refused ? core::ProbeOutcome::kRefused : core::ProbeOutcome::kTimedOut;
}

}  // namespace vortex::controller
