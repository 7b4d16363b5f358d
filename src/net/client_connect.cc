// How the client gets its connection: the address, then each endpoint in turn, within one limit.
#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <fmt/format.h>

#include "net/client_impl.h"
#include "net/socket_options.h"

namespace vortex::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// Where the answer of the resolver goes. Its thread cannot be interrupted, so it may come after
// the call has given up; nobody reads it then.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor) {}
  tcp::resolver resolver;
  boost::system::error_code fault;
  std::vector<tcp::endpoint> endpoints;
  bool answered = false;
};

}  // namespace

std::string ClientImpl::where() const {
  const bool v6 = config_.endpoint.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), config_.endpoint.host,
                     config_.endpoint.port);
}

CallError ClientImpl::not_connected(const std::string& why, CallFault fault) const {
  if (closed_) return {CallFault::kBroken, "closed by this side"};
  return {fault,
          fmt::format("cannot connect to {}: {}", where(), timed_out_ ? "no answer in time" : why)};
}

asio::awaitable<ClientImpl::Fault> ClientImpl::connect(Clock::time_point limit) {
  arm(std::min(limit, Clock::now() + std::chrono::microseconds(config_.connect_limit.us)));
  const auto endpoints = co_await resolve();
  if (!endpoints) co_return endpoints.error();
  bool all_refused = !endpoints->empty();
  boost::system::error_code last = asio::error::host_not_found;
  for (const tcp::endpoint& endpoint : *endpoints) {
    last = co_await connect_to(endpoint);
    if (!last) co_return co_await begin_tls();
    all_refused = all_refused && last == asio::error::connection_refused;
    if (timed_out_ || closed_) break;
  }
  const bool refused = all_refused && !timed_out_;
  co_return not_connected(last.message(), refused ? CallFault::kRefused : CallFault::kNotSent);
}

asio::awaitable<std::expected<ClientImpl::Endpoints, CallError>> ClientImpl::resolve() {
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(config_.endpoint.host, not_numeric);
  if (!not_numeric) {
    Endpoints numeric;
    numeric.emplace_back(address, config_.endpoint.port);
    co_return numeric;
  }
  const auto lookup = std::make_shared<Lookup>(executor_);
  lookup->resolver.async_resolve(
      config_.endpoint.host, std::to_string(config_.endpoint.port), tcp::resolver::numeric_service,
      [lookup, self = shared_from_this()](boost::system::error_code ec,
                                          const tcp::resolver::results_type& found) {
        lookup->fault = ec;
        for (const auto& entry : found) lookup->endpoints.push_back(entry.endpoint());
        lookup->answered = true;
        self->resolved_.cancel();
      });
  while (!lookup->answered && !closed_ && !timed_out_) {
    resolved_.expires_at(timer_.expiry());
    const auto [ec] = co_await resolved_.async_wait(asio::as_tuple(asio::deferred));
    timed_out_ = !ec;
  }
  if (!lookup->answered) {
    lookup->resolver.cancel();
    co_return std::unexpected(not_connected("the name cannot be resolved", CallFault::kNotSent));
  }
  if (lookup->fault) {
    co_return std::unexpected(not_connected(lookup->fault.message(), CallFault::kNotSent));
  }
  co_return std::move(lookup->endpoints);
}

asio::awaitable<boost::system::error_code> ClientImpl::connect_to(tcp::endpoint endpoint) {
  boost::system::error_code ec;
  hang_up();
  tls_.reset();
  socket_.open(endpoint.protocol(), ec);
  if (ec) co_return ec;
  tune_socket(socket_.native_handle(), config_.user_timeout);
  socket_.non_blocking(true, ec);
  const auto [fault] = co_await socket_.async_connect(endpoint, asio::as_tuple(asio::deferred));
  // A connection to oneself: nobody listens, and the system chose the very port that was asked for.
  if (!fault && socket_.local_endpoint(ec) == socket_.remote_endpoint(ec)) {
    hang_up();
    co_return asio::error::connection_refused;
  }
  co_return fault;
}

asio::awaitable<ClientImpl::Fault> ClientImpl::begin_tls() {
  if (!config_.endpoint.tls) co_return std::nullopt;
  tls_ = std::make_unique<ClientTls>(socket_);
  const std::string problem = co_await tls_->handshake(config_.endpoint.host);
  if (problem.empty()) co_return std::nullopt;
  co_return not_connected(problem, CallFault::kNotSent);
}

}  // namespace vortex::net
