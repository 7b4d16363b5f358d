#include "net/server.h"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/connection.h"
#include "net/listener.h"
#include "net/server_state.h"

namespace vortex::net {
namespace {

namespace asio = boost::asio;
using TimePoint = std::chrono::steady_clock::time_point;

// What the coroutines of stop() need; they outlive the Server when it is dropped meanwhile.
struct Parts {
  std::shared_ptr<ServerState> state;
  std::shared_ptr<Listener> listener;

  bool all_gone() const { return state->present() == 0 && !listener->running(); }
};

// A timer that the state cancels when the last connection has left.
class Waiter {
 public:
  explicit Waiter(std::shared_ptr<ServerState> state)
      : state_(std::move(state)), timer_(state_->strand) {
    state_->waiters.insert(&timer_);
  }
  ~Waiter() { state_->waiters.erase(&timer_); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  Timer& timer() { return timer_; }

 private:
  std::shared_ptr<ServerState> state_;
  Timer timer_;
};

// False: the limit came first.
asio::awaitable<bool> wait_until_gone(Parts parts, TimePoint limit) {
  Waiter waiter(parts.state);
  while (!parts.all_gone()) {
    if (std::chrono::steady_clock::now() >= limit) co_return false;
    waiter.timer().expires_at(limit);
    const auto [ec] = co_await waiter.timer().async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(ec);
  }
  co_return true;
}

asio::awaitable<void> stop_parts(Parts parts) {
  parts.listener->close();
  for (const auto& connection : parts.state->roll()) connection->begin_stop();
  const TimePoint limit =
      std::chrono::steady_clock::now() + to_chrono(parts.state->config.drain_limit);
  const bool drained = co_await wait_until_gone(parts, limit);
  if (drained) co_return;
  for (const auto& connection : parts.state->roll()) connection->cut();
  const bool gone = co_await wait_until_gone(parts, TimePoint::max());
  static_cast<void>(gone);
}

class ServerImpl final : public Server {
 public:
  explicit ServerImpl(Parts parts) : parts_(std::move(parts)) {}
  // Without a stop() before: whatever is left ends as soon as the event loop comes to it.
  ~ServerImpl() override {
    asio::post(parts_.state->strand, [parts = parts_] {
      parts.listener->close();
      for (const auto& connection : parts.state->roll()) connection->cut();
    });
  }
  ServerImpl(const ServerImpl&) = delete;
  ServerImpl& operator=(const ServerImpl&) = delete;

  std::uint16_t port() const override { return parts_.listener->port(); }
  std::uint32_t connections() const override { return parts_.state->served(); }
  asio::awaitable<void> stop() override {
    return asio::co_spawn(parts_.state->strand, stop_parts(parts_), asio::use_awaitable);
  }

 private:
  Parts parts_;
};

}  // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::listen(asio::io_context& io,
                                                                   ServerConfig config,
                                                                   Handler handler,
                                                                   Complain complain) {
  auto state =
      std::make_shared<ServerState>(io, std::move(config), std::move(handler), std::move(complain));
  auto listener = std::make_shared<Listener>(state);
  if (auto opened = listener->open(); !opened) return std::unexpected(opened.error());
  listener->start();
  return std::make_unique<ServerImpl>(Parts{std::move(state), std::move(listener)});
}

}  // namespace vortex::net
