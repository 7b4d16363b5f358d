#include "net/connection.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include "base/text.h"
#include "base/wiped.h"
#include "net/http.h"
#include "net/socket.h"

namespace vortex::net {
namespace {

namespace asio = boost::asio;

constexpr auto kTuple = asio::as_tuple(asio::deferred);
constexpr std::size_t kHeadRead = 4 * 1024;
constexpr std::size_t kBodyRead = 64 * 1024;
constexpr std::size_t kKeptWhenIdle = 16 * 1024;
constexpr std::size_t kLingerBytesMax = 1024 * 1024;
// A body of this size counts against no budget: its connection could hold as much in headers.
constexpr std::uint64_t kFreeBodyBytes = 16 * 1024;
constexpr std::uint64_t kReserveMax = 1024 * 1024;  // a length is a claim, not yet bytes
constexpr Duration kVitalHeadLimit = seconds(1);

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

// Unset: there is none.
std::optional<unsigned char> peek_byte(int fd) {
  unsigned char first = 0;
  if (::recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) return std::nullopt;
  return first;
}

bool is_letter(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Connection::Connection(std::shared_ptr<ServerState> state, Socket socket, ServerState::Place place)
    : state_(std::move(state)),
      seat_(state_, std::move(place)),
      socket_(std::move(socket)),
      watchdog_(socket_.get_executor()),
      wake_(socket_.get_executor()),
      parser_(limits_of(state_->config)),
      peer_(peer_text(socket_)),
      client_id_(fmt::format("c{:x}", seat_.number())) {
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
    const bool begun = !state_->config.tls || co_await begin_tls();
    if (begun && seat_.kind() == ServerState::Kind::kServed) {
      co_await serve();
    } else if (begun) {
      co_await serve_vital();
    }
    // Not after what broke off: its reader must not take it for a whole.
    if (tls_ && !cut_ && streaming_ != Streaming::kBroken) tls_->say_goodbye();
  } catch (...) {
    cut_ = true;
  }
  close();
}

// How long a connection may take to become useful: with TLS, the handshake included.
Duration Connection::first_limit() const {
  const bool served = seat_.kind() == ServerState::Kind::kServed;
  const Duration limit = served ? state_->config.head_limit : kVitalHeadLimit;
  if (!state_->config.tls) return limit;
  const auto gone = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - opened_);
  return std::max(limit - micros(gone.count()), millis(1));
}

// False: nothing more is to be done. By its first byte a client that does not speak TLS is known.
asio::awaitable<bool> Connection::begin_tls() {
  set_deadline(Phase::kIdle, first_limit());
  const auto [fault] =
      co_await socket_.async_wait(Socket::wait_read, asio::as_tuple(asio::deferred));
  const auto first = fault ? std::nullopt : peek_byte(socket_.native_handle());
  if (!first) co_return false;
  if (!begins_tls(*first)) {
    const Refusal plain{400, "this port speaks https"};
    if (is_letter(*first)) co_await refuse(plain);
    co_return false;
  }
  tls_ = std::make_unique<TlsChannel>(state_->config.tls->context(), socket_.native_handle(),
                                      TlsChannel::Side::kServer);
  const bool agreed = co_await shake_hands();
  if (agreed) peer_name_ = tls_->peer_name();
  co_return agreed;
}

asio::awaitable<bool> Connection::shake_hands() {
  using Step = TlsChannel::Step;
  for (;;) {
    const Step step = tls_->handshake();
    if (step == Step::kDone) co_return true;
    if (step == Step::kEnded || step == Step::kBroken) break;
    const auto side = step == Step::kWantsRead ? Socket::wait_read : Socket::wait_write;
    const auto [fault] = co_await socket_.async_wait(side, asio::as_tuple(asio::deferred));
    if (fault) co_return false;
  }
  co_await linger();  // so that it gets to read why
  co_return false;
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
    charge_.release();
    parser_.reset();
    first_ = false;
  }
}

// All seats are taken. Whoever asks whether we are alive is answered all the same.
asio::awaitable<void> Connection::serve_vital() {
  set_deadline(Phase::kHead, first_limit());
  while (parser_.state() == RequestParser::State::kHead) {
    const Got got = co_await read_more();
    if (got != Got::kRequest) break;
  }
  clear_deadline(Phase::kHandler);
  if (is_vital()) {
    const bool goes_on = co_await answer();
    static_cast<void>(goes_on);
    co_return;
  }
  const Refusal full{503, seat_.kind() == ServerState::Kind::kOverShare
                              ? "too many connections from this address"
                              : "too many connections"};
  co_await refuse(full);
}

bool Connection::is_vital() const {
  const Request& asked = parser_.request();
  const bool reads = asked.method == Method::kGet || asked.method == Method::kHead;
  return parser_.state() == RequestParser::State::kDone && reads &&
         std::ranges::find(state_->config.vital_targets, asked.target) !=
             state_->config.vital_targets.end();
}

asio::awaitable<Connection::Got> Connection::read_request() {
  Got got = co_await read_head();
  const bool reads_on = got == Got::kRequest && state_->config.bodies == Bodies::kFirst &&
                        parser_.state() == RequestParser::State::kBody;
  if (reads_on) got = co_await read_rest();
  if (got == Got::kRequest) clear_deadline(Phase::kHandler);  // else the phase says what was slow
  co_return got;
}

// The head, and what came with it of the body.
asio::awaitable<Connection::Got> Connection::read_head() {
  if (in_.empty()) {
    in_.give_back(kKeptWhenIdle);
    // A connection that was opened for nothing is not kept as long as one that was useful.
    set_deadline(Phase::kIdle, first_ ? first_limit() : state_->config.idle_limit);
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
  co_return parser_.state() == RequestParser::State::kRefused ? Got::kRefusal : Got::kRequest;
}

asio::awaitable<Connection::Got> Connection::read_rest() {
  set_deadline(Phase::kBody, state_->config.body_limit);
  const bool fine = co_await send_continue();
  if (!fine) co_return Got::kNothing;
  std::string& body = parser_.request().body;
  const std::uint64_t announced = parser_.announced_bytes();
  make_room(body, static_cast<std::size_t>(std::min(announced, kReserveMax)));
  while (parser_.state() == RequestParser::State::kBody) {
    const Got got = co_await read_more();
    if (got != Got::kRequest) co_return got;
    if (announced > 0 || body.capacity() <= kFreeBodyBytes) continue;
    if (charge_.raise_to(body.capacity()) != nullptr) co_return Got::kRefusal;
  }
  co_return parser_.state() == RequestParser::State::kDone ? Got::kRequest : Got::kRefusal;
}

void Connection::wipe_request() {
  wipe(parser_.request().body);
  parser_.request().wiped = false;
  in_.wipe_unused();
}

bool Connection::has_body() const { return parser_.state() == RequestParser::State::kDone; }

void Connection::drop_body() {
  std::string().swap(parser_.request().body);
  charge_.release();
}

// What is announced is counted before a byte of it is read; what comes in chunks, as it comes.
asio::awaitable<std::optional<Refusal>> Connection::read_body(BodyTerms terms) {
  if (parser_.state() == RequestParser::State::kBody) parser_.limit_body(terms.bytes_max);
  if (parser_.state() == RequestParser::State::kRefused) co_return parser_.refusal();
  if (parser_.state() == RequestParser::State::kDone) co_return std::nullopt;
  charge_.begin(std::move(terms.shares));
  const std::uint64_t announced = parser_.announced_bytes();
  if (announced > kFreeBodyBytes) {
    if (const Refusal* full = charge_.raise_to(announced)) co_return *full;
  }
  make_room(parser_.request().body, announced);  // paid for
  const Got got = co_await read_rest();
  const bool slow = timed_out_;
  const Refusal late = too_slow();
  clear_deadline(Phase::kHandler);
  timed_out_ = false;
  if (got == Got::kRequest) co_return std::nullopt;
  if (slow) co_return late;
  if (parser_.state() == RequestParser::State::kRefused) co_return parser_.refusal();
  if (got == Got::kNothing) {
    co_return Refusal{400, "the connection closed before the body was complete"};
  }
  const Refusal* full = charge_.raise_to(parser_.request().body.capacity());
  co_return full != nullptr ? *full : Refusal{503, "too many requests are being received"};
}

// kRequest: there is more of it now.
asio::awaitable<Connection::Got> Connection::read_more() {
  const bool some = co_await read_some();
  if (!some) co_return timed_out_ ? Got::kRefusal : Got::kNothing;
  in_.consume(parser_.feed(in_.bytes()));
  co_return Got::kRequest;
}

asio::awaitable<bool> Connection::read_some() {
  const auto room = in_.room(phase_ == Phase::kBody ? kBodyRead : kHeadRead);
  if (tls_ && phase_ != Phase::kLinger) co_return co_await read_decrypted(room);
  const auto [ec, count] =
      co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), kTuple);
  if (ec) co_return false;
  in_.commit(count);
  co_return true;
}

asio::awaitable<bool> Connection::read_decrypted(std::span<char> room) {
  for (;;) {
    std::size_t count = 0;
    const TlsChannel::Step step = tls_->read(room, count);
    if (step == TlsChannel::Step::kDone) {
      in_.commit(count);
      co_return true;
    }
    if (step != TlsChannel::Step::kWantsRead) co_return false;
    const auto [fault] =
        co_await socket_.async_wait(Socket::wait_read, asio::as_tuple(asio::deferred));
    if (fault) co_return false;
  }
}

asio::awaitable<bool> Connection::answer() {
  Request& asked = parser_.request();
  asked.peer = peer_;
  asked.client_id = client_id_;
  asked.encrypted = tls_ != nullptr;
  asked.peer_name = peer_name_;
  keep_alive_ = parser_.keep_alive() && seat_.kind() == ServerState::Kind::kServed;
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
  if (asked.wiped) wipe_request();
  if (has_body()) {
    const bool sent = co_await send(response);
    if (response.wiped) wipe(response.body);
    co_return sent;
  }
  // Answered by its head alone: what is left of the body is not read.
  keep_alive_ = false;
  const bool sent = co_await send(response);
  static_cast<void>(sent);
  drop_body();
  if (socket_.is_open()) co_await linger();
  co_return false;
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

// Closing a socket that holds unread bytes resets it, and the reset overtakes the answer. Whoever
// sends more than is worth reading is held back by the full socket instead, for as long as it may
// take to read the answer.
asio::awaitable<void> Connection::linger() {
  boost::system::error_code ec;
  if (tls_) tls_->say_goodbye();
  socket_.shutdown(Socket::shutdown_send, ec);
  if (ec) co_return;
  set_deadline(Phase::kLinger, kLingerLimit);
  for (std::size_t total = 0; total < kLingerBytesMax;) {
    in_.clear();
    const bool some = co_await read_some();
    if (!some) co_return;
    total += in_.bytes().size();
  }
  in_.clear();
  const auto [gone] =
      co_await socket_.async_wait(Socket::wait_error, asio::as_tuple(asio::deferred));
  static_cast<void>(gone);  // the other end left, or the time is up
}

// How a connection watches: its own deadlines, and whether the other end is still there.

namespace {

// With unread bytes in the way the socket is always ready, so it is asked now and then instead.
constexpr std::chrono::seconds kLookEvery(1);

}  // namespace

void Connection::set_deadline(Phase phase, Duration limit) {
  phase_ = phase;
  timed_out_ = false;
  const auto now = Clock::now();
  deadline_ = now + to_chrono(limit);
  // In the steady state the timer is already set for an earlier look, and nothing is to be done.
  if (armed_ > deadline_)
    arm_watchdog(std::min(deadline_, now + to_chrono(state_->check_interval)));
}

void Connection::clear_deadline(Phase phase) {
  phase_ = phase;
  deadline_ = Clock::time_point::max();
}

void Connection::arm_watchdog(Clock::time_point at) {
  armed_ = at;
  watchdog_.expires_at(at);
  watchdog_.async_wait([self = shared_from_this()](const boost::system::error_code& ec) {
    if (!ec) self->on_watchdog();
  });
}

void Connection::on_watchdog() {
  armed_ = Clock::time_point::max();
  if (!socket_.is_open() || deadline_ == Clock::time_point::max()) return;
  const auto now = Clock::now();
  if (now < deadline_) {
    return arm_watchdog(std::min(deadline_, now + to_chrono(state_->check_interval)));
  }
  timed_out_ = true;
  deadline_ = Clock::time_point::max();
  boost::system::error_code ec;
  socket_.cancel(ec);
  wake_.cancel();
}

asio::awaitable<void> Connection::closed() {
  while (!stopping_ && socket_.is_open() && !timed_out_) {
    const PeerState peer = peek_peer(socket_.native_handle());
    if (peer == PeerState::kGone) break;
    if (peer == PeerState::kHasData) {
      wake_.expires_after(kLookEvery);
    } else {
      wake_.expires_at(Clock::time_point::max());
      watch_peer();
    }
    const auto [woken] = co_await wake_.async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(woken);  // why does not matter: the loop looks again
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) break;
  }
  stop_watching();
}

void Connection::watch_peer() {
  if (watching_) return;
  watching_ = true;
  socket_.async_wait(
      Socket::wait_read,
      asio::bind_cancellation_slot(
          stop_watch_.slot(), [self = shared_from_this()](const boost::system::error_code& ec) {
            if (ec == asio::error::operation_aborted) return;
            self->watching_ = false;
            self->wake_.cancel();
          }));
}

void Connection::stop_watching() {
  if (!watching_) return;
  watching_ = false;
  stop_watch_.emit(asio::cancellation_type::terminal);
}

}  // namespace vortex::net
