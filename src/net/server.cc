#include "net/server.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection.h"
#include "net/server_state.h"
#include "net/socket.h"

namespace vortex::net {
namespace {

// The listening socket and its accept loop, which no client and no lack of descriptors can end.
//
// Internal to net. Runs on the server's strand. When descriptors run out it turns the newest away
// through a spare one and pauses; it never spins.

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  explicit Listener(std::shared_ptr<ServerState> state);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::expected<void, std::string> open();
  std::uint16_t port() const { return port_; }
  void start();
  void close();                              // on the strand
  bool running() const { return running_; }  // on the strand

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Strand>;

  boost::asio::awaitable<void> accept_loop();
  bool welcome(Socket socket);
  void drop_oldest_refused();
  void turn_some_away();
  boost::asio::awaitable<void> pause();

  std::shared_ptr<ServerState> state_;
  Acceptor acceptor_;
  Timer pause_;
  std::deque<std::weak_ptr<Connection>> refused_;  // oldest first; at most kRefusedMax live
  std::uint16_t port_ = 0;
  int spare_ = -1;
  bool running_ = false;
};

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kPause(50);
constexpr int kTurnedAwayAtOnce = 32;
// Seats kept back for vital questions; the others get their refusal there.
constexpr std::uint32_t kRefusedMax = 64;

int open_spare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool another_is_free() {
  const int fd = open_spare();
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

// False: nobody waits.
bool turn_one_away(int listening) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
      "Connection: close\r\n\r\n";
  const int fd = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return false;
  static_cast<void>(::send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(fd, SHUT_WR);
  ::close(fd);
  return true;
}

std::string address_text(const ServerConfig& config) {
  const bool v6 = config.address.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), config.address, config.port);
}

Listener::Listener(std::shared_ptr<ServerState> state)
    : state_(std::move(state)),
      acceptor_(state_->strand),
      pause_(state_->strand),
      spare_(open_spare()) {}

Listener::~Listener() {
  if (spare_ >= 0) ::close(spare_);
}

std::expected<void, std::string> Listener::open() {
  const ServerConfig& config = state_->config;
  const auto fail = [&](const std::string& why) {
    return std::unexpected(fmt::format("cannot listen on {}: {}", address_text(config), why));
  };
  boost::system::error_code ec;
  const std::string host = config.address == "localhost" ? "127.0.0.1" : config.address;
  const auto address = asio::ip::make_address(host, ec);
  if (ec) return fail("not an IP address");
  const tcp::endpoint endpoint(address, config.port);
  acceptor_.open(endpoint.protocol(), ec);
  if (ec) return fail(ec.message());
  // A program that is started from here must not keep the port after we have let go of it.
  static_cast<void>(::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC));
  acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec && address.is_v6())
    acceptor_.set_option(asio::ip::v6_only(!address.is_unspecified()), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) port_ = acceptor_.local_endpoint(ec).port();
  if (ec) return fail(ec.message());
  return {};
}

void Listener::start() {
  running_ = true;
  auto loop = accept_loop();
  asio::co_spawn(state_->strand, std::move(loop),
                 [self = shared_from_this()](const std::exception_ptr&) {
                   self->running_ = false;
                   self->state_->wake_waiters();
                 });
}

void Listener::close() {
  boost::system::error_code ec;
  acceptor_.close(ec);
  pause_.cancel();
}

asio::awaitable<void> Listener::accept_loop() {
  while (acceptor_.is_open()) {
    // Each connection has a strand of its own, given to its socket from the start.
    Socket socket(asio::make_strand(state_->io));
    const auto [ec] = co_await acceptor_.async_accept(socket, asio::as_tuple(asio::deferred));
    if (!acceptor_.is_open()) break;
    if (!ec && welcome(std::move(socket))) continue;
    if (ec == boost::system::errc::too_many_files_open ||
        ec == boost::system::errc::too_many_files_open_in_system) {
      turn_some_away();
    }
    co_await pause();
  }
}

// False: no memory for it. This connection is dropped, the loop lives.
bool Listener::welcome(Socket socket) {
  boost::system::error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  if (ec) return true;  // gone already
  try {
    ServerState::Place place = state_->place_for(peer.address());
    const bool kept_back = place.kind != ServerState::Kind::kServed;
    if (kept_back && state_->refused() >= kRefusedMax) drop_oldest_refused();
    auto connection = std::make_shared<Connection>(state_, std::move(socket), std::move(place));
    while (!refused_.empty() && refused_.front().expired()) refused_.pop_front();
    if (kept_back) refused_.push_back(connection);
    connection->start();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// The seats kept back are for whoever came last: a flood of silent ones cannot hold them.
void Listener::drop_oldest_refused() {
  while (!refused_.empty()) {
    const auto oldest = refused_.front().lock();
    refused_.pop_front();
    if (!oldest) continue;
    oldest->cut();
    return;
  }
}

// The one descriptor kept back is given up for a moment, so that those who wait in the backlog are
// told at once instead of waiting for their own limit. As soon as there is another one they are
// served again.
void Listener::turn_some_away() {
  if (spare_ < 0) spare_ = open_spare();
  for (int i = 0; i < kTurnedAwayAtOnce && spare_ >= 0 && !another_is_free(); ++i) {
    ::close(spare_);
    const bool one_more = turn_one_away(acceptor_.native_handle());
    spare_ = open_spare();
    if (!one_more) break;
  }
}

asio::awaitable<void> Listener::pause() {
  pause_.expires_after(kPause);
  const auto [ec] = co_await pause_.async_wait(asio::as_tuple(asio::deferred));
  static_cast<void>(ec);
}

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
