#include "net/connection.h"

#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <fmt/format.h>

#include "net/socket_options.h"

namespace vortex::net {
namespace {

namespace asio = boost::asio;

constexpr auto kTuple = asio::as_tuple(asio::deferred);
constexpr std::size_t kHeadRead = 4 * 1024;
constexpr std::size_t kBodyRead = 64 * 1024;
constexpr std::size_t kKeptWhenIdle = 16 * 1024;
constexpr std::size_t kLingerBytesMax = 1024 * 1024;

ParseLimits limits_of(const ServerConfig& config) {
  return {config.header_bytes_max, config.body_bytes_max};
}

std::string peer_text(const Socket& socket) {
  boost::system::error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  if (ec) return "unknown";
  const char* form = peer.address().is_v6() ? "[{}]:{}" : "{}:{}";
  return fmt::format(fmt::runtime(form), peer.address().to_string(), peer.port());
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerState> state, Socket socket, std::uint64_t number,
                       ServerState::Kind kind)
    : state_(std::move(state)),
      kind_(kind),
      seat_(state_, number, kind),
      socket_(std::move(socket)),
      watchdog_(socket_.get_executor()),
      wake_(socket_.get_executor()),
      parser_(limits_of(state_->config)),
      peer_(peer_text(socket_)),
      client_id_(fmt::format("c{:x}", number)) {
  tune_socket(socket_.native_handle(), state_->config.user_timeout);
  boost::system::error_code ec;
  socket_.non_blocking(true, ec);
}

Connection::~Connection() = default;

void Connection::start() {
  auto self = shared_from_this();
  state_->enlist(seat_.number(), self);
  auto life = live();
  asio::co_spawn(
      socket_.get_executor(), std::move(life),
      asio::bind_cancellation_slot(
          kill_.slot(), [self = std::move(self)](const std::exception_ptr&) { self->close(); }));
}

void Connection::begin_stop() {
  asio::dispatch(socket_.get_executor(), [self = shared_from_this()] {
    self->stopping_ = true;
    self->wake_.cancel();
    boost::system::error_code ec;
    if (self->phase_ == Phase::kIdle) self->socket_.cancel(ec);
  });
}

void Connection::cut() {
  asio::dispatch(socket_.get_executor(), [self = shared_from_this()] {
    self->cut_ = true;
    self->close();
    self->kill_.emit(asio::cancellation_type::terminal);
  });
}

void Connection::close() {
  boost::system::error_code ec;
  socket_.close(ec);
  watchdog_.cancel();
  wake_.cancel();
}

const Request& Connection::request() const { return parser_.request(); }
Request& Connection::request() { return parser_.request(); }

// Whatever is thrown ends this connection and nothing else.
asio::awaitable<void> Connection::live() {
  try {
    if (kind_ == ServerState::Kind::kServed) {
      co_await serve();
    } else {
      const Refusal full{503, "too many connections"};
      co_await refuse(full);
    }
  } catch (...) {
    cut_ = true;
  }
  close();
}

asio::awaitable<void> Connection::serve() {
  bool goes_on = true;
  while (goes_on && !stopping_) {
    const Got got = co_await read_request();
    if (got == Got::kNothing) co_return;
    if (got == Got::kRefusal) {
      const Refusal why = timed_out_ ? too_slow() : parser_.refusal();
      co_await refuse(why);
      co_return;
    }
    goes_on = co_await answer();
    parser_.reset();
    first_ = false;
  }
}

asio::awaitable<Connection::Got> Connection::read_request() {
  if (in_.empty()) {
    in_.give_back(kKeptWhenIdle);
    // A connection that was opened for nothing is not kept as long as one that was useful.
    set_deadline(Phase::kIdle, first_ ? state_->config.head_limit : state_->config.idle_limit);
    const bool some = co_await read_some();
    if (!some) co_return Got::kNothing;
  }
  in_.consume(parser_.feed(in_.bytes()));
  if (parser_.state() == RequestParser::State::kHead) {
    set_deadline(Phase::kHead, state_->config.head_limit);
    while (parser_.state() == RequestParser::State::kHead) {
      const Got got = co_await read_more();
      if (got != Got::kRequest) co_return got;
    }
  }
  if (parser_.state() == RequestParser::State::kBody) {
    set_deadline(Phase::kBody, state_->config.body_limit);
    const bool fine = co_await send_continue();
    if (!fine) co_return Got::kNothing;
    while (parser_.state() == RequestParser::State::kBody) {
      const Got got = co_await read_more();
      if (got != Got::kRequest) co_return got;
    }
  }
  clear_deadline(Phase::kHandler);
  co_return parser_.state() == RequestParser::State::kDone ? Got::kRequest : Got::kRefusal;
}

// kRequest: there is more of it now.
asio::awaitable<Connection::Got> Connection::read_more() {
  const bool some = co_await read_some();
  if (!some) co_return timed_out_ ? Got::kRefusal : Got::kNothing;
  in_.consume(parser_.feed(in_.bytes()));
  co_return Got::kRequest;
}

asio::awaitable<bool> Connection::read_some() {
  const bool body = phase_ == Phase::kBody || phase_ == Phase::kLinger;
  const auto room = in_.room(body ? kBodyRead : kHeadRead);
  const auto [ec, count] =
      co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), kTuple);
  if (ec) co_return false;
  in_.commit(count);
  co_return true;
}

asio::awaitable<bool> Connection::answer() {
  Request& asked = parser_.request();
  asked.peer = peer_;
  asked.client_id = client_id_;
  keep_alive_ = parser_.keep_alive();
  streaming_ = Streaming::kNo;
  Response response;
  const bool answered = co_await call_handler(response);
  stop_watching();
  if (cut_) co_return false;
  if (!answered) {
    const Refusal failed{500, "internal server error"};
    if (streaming_ == Streaming::kNo) co_await refuse(failed);
    co_return false;
  }
  if (streaming_ != Streaming::kNo) co_return co_await end_stream();
  co_return co_await send(response);
}

asio::awaitable<bool> Connection::call_handler(Response& response) {
  try {
    response = co_await state_->handler(*this);
    co_return true;
  } catch (...) {
    co_return false;
  }
}

asio::awaitable<void> Connection::refuse(Refusal why) {
  timed_out_ = false;
  keep_alive_ = false;
  const Response response = complaint(why);
  const bool sent = co_await send(response);
  static_cast<void>(sent);
  if (socket_.is_open()) co_await linger();
}

Refusal Connection::too_slow() const {
  return {408, phase_ == Phase::kBody ? "the request body took too long"
                                      : "the request headers took too long"};
}

Response Connection::complaint(const Refusal& why) const {
  Response response = state_->complain(why.status, why.detail);
  if (why.status == 503 && !find_header(response.headers, "Retry-After")) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

// Closing a socket that holds unread bytes resets it, and the reset overtakes the answer.
asio::awaitable<void> Connection::linger() {
  boost::system::error_code ec;
  socket_.shutdown(Socket::shutdown_send, ec);
  if (ec) co_return;
  set_deadline(Phase::kLinger, kLingerLimit);
  for (std::size_t total = 0; total < kLingerBytesMax;) {
    in_.clear();
    const bool some = co_await read_some();
    if (!some) co_return;
    total += in_.bytes().size();
  }
}

}  // namespace vortex::net
