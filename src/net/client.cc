#include "net/client.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/assert.h"
#include "net/client_impl.h"
#include "net/http_write.h"
#include "net/socket_options.h"

namespace vortex::net {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kSmallBody = 4 * 1024;

std::chrono::microseconds to_chrono(Duration d) { return std::chrono::microseconds(d.us); }

// Nothing that would end the request line early or start a second request.
bool is_sendable(std::string_view target) {
  return target.starts_with('/') && std::ranges::none_of(target, [](char c) {
           return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
         });
}

bool sends_body(const Call& call) {
  return !call.body.empty() || call.method == Method::kPost || call.method == Method::kPut ||
         call.method == Method::kPatch;
}

}  // namespace

ClientImpl::ClientImpl(asio::any_io_executor executor, ClientConfig config)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      socket_(executor_),
      timer_(executor_),
      resolved_(executor_),
      parser_(config_.body_bytes_max) {}

asio::awaitable<ClientImpl::Answer> ClientImpl::run(std::shared_ptr<ClientImpl> self, Call call,
                                                    OnPiece on_piece) {
  VX_ASSERT(!self->busy_);  // one request at a time
  if (!is_sendable(call.target) || call.method == Method::kOther) {
    co_return std::unexpected(CallError{CallFault::kNotSent, "not a valid target or method"});
  }
  // Also when an exception passes: cancelled from outside, or out of memory.
  struct Guard {
    explicit Guard(ClientImpl& impl) : client(impl) { client.busy_ = true; }
    ~Guard() {
      client.busy_ = false;
      client.disarm();
      if (!clean) client.hang_up();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ClientImpl& client;
    bool clean = false;
  } guard(*self);
  self->closed_ = false;
  self->timed_out_ = false;
  Answer answer = co_await self->exchange(call, on_piece);
  guard.clean = answer.has_value() && self->in_.empty() && self->parser_.keep_alive();
  co_return answer;
}

asio::awaitable<ClientImpl::Answer> ClientImpl::exchange(Call& call, OnPiece& on_piece) {
  const auto limit = Clock::now() + to_chrono(call.limit);
  if (!kept_connection_is_good()) {
    const Fault fault = co_await connect(limit);
    if (fault) co_return std::unexpected(*fault);
  }
  arm(limit);
  co_await write_request(call);
  co_return co_await read_answer(call, on_piece);
}

bool ClientImpl::kept_connection_is_good() {
  if (!socket_.is_open()) return false;
  if (peek_peer(socket_.native_handle()) == PeerState::kQuiet) return true;
  hang_up();
  return false;
}

void ClientImpl::build_head(const Call& call) {
  out_.clear();
  fmt::format_to(std::back_inserter(out_), "{} {} HTTP/1.1\r\nHost: {}\r\n", to_text(call.method),
                 call.target, where());
  if (!config_.token.empty()) append_header(out_, "Authorization", "Bearer " + config_.token);
  if (sends_body(call)) {
    fmt::format_to(std::back_inserter(out_), "Content-Length: {}\r\n", call.body.size());
    if (!find_header(call.headers, "Content-Type")) {
      append_header(out_, "Content-Type", "application/json");
    }
  }
  for (const auto& [name, value] : call.headers) {
    if (!is_framing_header(name)) append_header(out_, name, value);
  }
  out_ += "\r\n";
}

// Has no result: a server that refuses early answers before it has read all, and closes. What was
// answered is worth more than the error of the write, and without an answer the read fails too.
asio::awaitable<void> ClientImpl::write_request(const Call& call) {
  build_head(call);
  const bool small = call.body.size() <= kSmallBody;
  if (small) out_ += call.body;
  std::array<asio::const_buffer, 2> buffers{asio::buffer(out_)};
  if (!small) buffers[1] = asio::buffer(call.body);
  if (tls_) {
    co_await tls_->write(buffers);
    co_return;
  }
  boost::system::error_code ec;
  const std::size_t sent = socket_.write_some(buffers, ec);
  if (sent == asio::buffer_size(buffers)) co_return;
  if (ec && ec != asio::error::would_block && ec != asio::error::try_again) co_return;
  const std::size_t of_head = std::min(sent, buffers[0].size());
  buffers[0] += of_head;
  buffers[1] += sent - of_head;
  const auto [fault, count] =
      co_await asio::async_write(socket_, buffers, asio::as_tuple(asio::deferred));
  static_cast<void>(fault);
  static_cast<void>(count);
}

asio::awaitable<ClientImpl::Answer> ClientImpl::read_answer(const Call& call, OnPiece& on_piece) {
  parser_.reset(call.method, on_piece ? UINT64_MAX : config_.body_bytes_max);
  in_.clear();
  for (;;) {
    if (timed_out_ || closed_) co_return std::unexpected(broken({}));
    const auto room = in_.room(kReadBytes);
    boost::system::error_code ec;
    std::size_t count = 0;
    if (tls_) {
      std::tie(ec, count) = co_await tls_->read_some(room);
    } else {
      std::tie(ec, count) = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()),
                                                             asio::as_tuple(asio::deferred));
    }
    if (ec == asio::error::eof) parser_.end_of_stream();
    if (ec && parser_.state() != AnswerParser::State::kDone) co_return std::unexpected(broken(ec));
    in_.commit(count);
    in_.consume(parser_.feed(in_.bytes()));
    if (parser_.state() == AnswerParser::State::kRefused) {
      co_return std::unexpected(CallError{CallFault::kMalformed, parser_.fault()});
    }
    const bool wanted = hand_out(on_piece);
    if (!wanted || parser_.state() == AnswerParser::State::kDone) break;
    if (on_piece && count > 0) arm(Clock::now() + to_chrono(call.limit));
  }
  co_return std::move(parser_.response());
}

// False: the caller wants no more. Bodies of other statuses are kept for it to show.
bool ClientImpl::hand_out(OnPiece& on_piece) {
  Response& response = parser_.response();
  if (!on_piece || response.body.empty()) return true;
  if (response.status / 100 != 2) return response.body.size() <= config_.body_bytes_max;
  const bool goes_on = on_piece(response.body);
  response.body.clear();
  return goes_on;
}

CallError ClientImpl::broken(const boost::system::error_code& ec) const {
  if (closed_) return {CallFault::kBroken, "closed by this side"};
  if (timed_out_) return {CallFault::kTimedOut, fmt::format("{} did not answer in time", where())};
  return {CallFault::kBroken, fmt::format("the connection to {} closed before the response: {}",
                                          where(), ec.message())};
}

void ClientImpl::arm(Clock::time_point limit) {
  timer_.expires_at(limit);
  timer_.async_wait([self = shared_from_this(), armed = ++arming_](boost::system::error_code ec) {
    if (ec || armed != self->arming_) return;
    self->timed_out_ = true;
    self->hang_up();
  });
}

void ClientImpl::disarm() {
  ++arming_;
  timer_.cancel();
}

void ClientImpl::hang_up() {
  boost::system::error_code ec;
  socket_.close(ec);
}

void ClientImpl::close() {
  asio::dispatch(executor_, [self = shared_from_this()] {
    self->closed_ = true;
    self->hang_up();
    self->timer_.cancel();
    self->resolved_.cancel();
  });
}

Client::Client(asio::any_io_executor executor, ClientConfig config)
    : impl_(std::make_shared<ClientImpl>(std::move(executor), std::move(config))) {}
Client::~Client() { close(); }

asio::awaitable<std::expected<Response, CallError>> Client::send(Call call) {
  return ClientImpl::run(impl_, std::move(call), OnPiece());
}

asio::awaitable<std::expected<Response, CallError>> Client::stream(Call call, OnPiece on_piece) {
  return ClientImpl::run(impl_, std::move(call), std::move(on_piece));
}

void Client::close() { impl_->close(); }

std::expected<Response, CallError> send_and_wait(const ClientConfig& config, Call call) {
  asio::io_context io(1);
  Client client(io.get_executor(), config);
  std::expected<Response, CallError> result =
      std::unexpected(CallError{CallFault::kBroken, "the call did not end"});
  asio::co_spawn(io, client.send(std::move(call)),
                 [&](const std::exception_ptr& thrown, std::expected<Response, CallError> answer) {
                   if (!thrown) result = std::move(answer);
                   io.stop();
                 });
  io.run();
  return result;
}

}  // namespace vortex::net
