#include "net/client.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/wiped.h"
#include "net/answer_parse.h"
#include "net/client_tls.h"
#include "net/http.h"
#include "net/read_buffer.h"
#include "net/socket.h"

namespace vortex::net {

// The inside of the client: its socket, its one timer, and the steps of a call.
//
// Internal to net. Everything here runs on the client's executor; each call holds a reference, so
// the Client may go while its call is under way.

class ClientImpl : public std::enable_shared_from_this<ClientImpl> {
 public:
  using Answer = std::expected<Response, CallError>;
  // Who takes the pieces of an answer; both may be empty.
  struct Takers {
    Client::OnPiece on_piece = {};
    Client::Sink sink = {};
    explicit operator bool() const { return on_piece || sink; }
  };

  ClientImpl(boost::asio::any_io_executor executor, ClientConfig config);

  static boost::asio::awaitable<Answer> run(std::shared_ptr<ClientImpl> self, Call call,
                                            Takers takers);
  void close();  // any thread

 private:
  using Clock = std::chrono::steady_clock;
  using Fault = std::optional<CallError>;
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

  boost::asio::awaitable<Answer> exchange(Call& call, Takers& takers);
  boost::asio::awaitable<Fault> connect(Clock::time_point limit);
  boost::asio::awaitable<std::expected<Endpoints, CallError>> resolve();
  Fault keep_reachable(Endpoints& endpoints) const;
  boost::asio::awaitable<boost::system::error_code> connect_to(
      boost::asio::ip::tcp::endpoint endpoint);
  boost::asio::awaitable<Fault> begin_tls();
  boost::asio::awaitable<void> write_request(const Call& call);
  boost::asio::awaitable<Answer> read_answer(const Call& call, Takers& takers);
  bool hand_out(Client::OnPiece& on_piece);
  boost::asio::awaitable<bool> pass_out(Client::Sink& sink);
  bool kept_connection_is_good();
  void build_head(const Call& call);
  CallError broken(const boost::system::error_code& ec) const;
  CallError not_connected(const std::string& why, CallFault fault) const;
  std::string where() const;

  void arm(Clock::time_point limit);
  void disarm();
  void hang_up();

  const boost::asio::any_io_executor executor_;
  const ClientConfig config_;
  std::string token_;  // what is sent: the configured one, or one that was found
  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<ClientTls> tls_;  // of the present connection; null: without
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer resolved_;  // cancelled when the resolver has answered
  AnswerParser parser_;
  ReadBuffer in_;
  std::string out_;
  std::uint64_t arming_ = 0;  // tells the timer's late calls from current ones
  bool busy_ = false;
  bool timed_out_ = false;
  bool closed_ = false;  // by close(), for the call under way
};

// How the client gets its connection: the address, then each endpoint in turn, within one limit.

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
  auto endpoints = co_await resolve();
  if (!endpoints) co_return endpoints.error();
  if (const Fault forbidden = keep_reachable(*endpoints)) co_return forbidden;
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

// Set: none is left.
ClientImpl::Fault ClientImpl::keep_reachable(Endpoints& endpoints) const {
  if (!config_.may_reach || endpoints.empty()) return std::nullopt;
  const std::string first = endpoints.front().address().to_string();
  std::erase_if(endpoints, [this](const tcp::endpoint& endpoint) {
    const auto ip = parse_ip(endpoint.address().to_string());
    return !ip || !config_.may_reach(*ip);
  });
  if (!endpoints.empty()) return std::nullopt;
  return not_connected(fmt::format("{} is not an allowed address", first), CallFault::kForbidden);
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
  const auto& trust = config_.trust ? config_.trust : ClientTrust::of_system();
  tls_ = std::make_unique<ClientTls>(socket_, trust->context(), config_.endpoint.host);
  const std::string problem = co_await tls_->handshake();
  if (problem.empty()) co_return std::nullopt;
  if (!tls_->untrusted()) co_return not_connected(problem, CallFault::kNotSent);
  CallError error = not_connected(problem, CallFault::kUntrusted);
  error.shown = std::make_shared<const UntrustedPeer>(*tls_->untrusted());
  co_return error;
}

namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kSmallRequestBody = 4 * 1024;

// Nothing that would end the request line early or start a second request.
bool is_sendable(std::string_view target) {
  return target.starts_with('/') && std::ranges::none_of(target, [](char c) {
           return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
         });
}

std::string_view body_of(const Call& call) {
  return call.body_view.empty() ? std::string_view(call.body) : call.body_view;
}

bool sends_body(const Call& call) {
  return !body_of(call).empty() || call.method == Method::kPost || call.method == Method::kPut ||
         call.method == Method::kPatch;
}

}  // namespace

ClientImpl::ClientImpl(asio::any_io_executor executor, ClientConfig config)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      token_(config_.token),
      socket_(executor_),
      timer_(executor_),
      resolved_(executor_),
      parser_(config_.body_bytes_max) {}

asio::awaitable<ClientImpl::Answer> ClientImpl::run(std::shared_ptr<ClientImpl> self, Call call,
                                                    Takers takers) {
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
  Answer answer = co_await self->exchange(call, takers);
  if (answer && answer->status == 401 && self->config_.find_token) self->token_.clear();
  guard.clean = answer.has_value() && self->in_.empty() && self->parser_.keep_alive();
  co_return answer;
}

asio::awaitable<ClientImpl::Answer> ClientImpl::exchange(Call& call, Takers& takers) {
  const auto limit = Clock::now() + to_chrono(call.limit);
  if (!kept_connection_is_good()) {
    const Fault fault = co_await connect(limit);
    if (fault) co_return std::unexpected(*fault);
    token_ =
        config_.token;  // somebody else may be there now: one that was found is looked for again
  }
  arm(limit);
  co_await write_request(call);
  co_return co_await read_answer(call, takers);
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
  if (token_.empty() && config_.find_token) token_ = config_.find_token();
  if (!token_.empty()) append_header(out_, "Authorization", "Bearer " + token_);
  if (sends_body(call)) {
    fmt::format_to(std::back_inserter(out_), "Content-Length: {}\r\n", body_of(call).size());
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
  const std::string_view body = body_of(call);
  const bool small = body.size() <= kSmallRequestBody;
  if (small) out_ += body;
  std::array<asio::const_buffer, 2> buffers{asio::buffer(out_)};
  if (!small) buffers[1] = asio::buffer(body);
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

asio::awaitable<ClientImpl::Answer> ClientImpl::read_answer(const Call& call, Takers& takers) {
  parser_.reset(call.method, takers ? UINT64_MAX : config_.body_bytes_max);
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
    if (call.wiped) {
      std::string& body = parser_.response().body;
      const std::size_t bytes = body.size() + in_.bytes().size();
      if (bytes > body.capacity()) make_room(body, 2 * bytes);
    }
    in_.consume(parser_.feed(in_.bytes()));
    if (call.wiped) in_.wipe_unused();
    if (parser_.state() == AnswerParser::State::kRefused) {
      co_return std::unexpected(CallError{CallFault::kMalformed, parser_.fault()});
    }
    bool wanted = hand_out(takers.on_piece);
    if (takers.sink) wanted = co_await pass_out(takers.sink);
    if (!wanted || parser_.state() == AnswerParser::State::kDone) break;
    if (takers && count > 0) arm(Clock::now() + to_chrono(call.limit));
  }
  co_return std::move(parser_.response());
}

// False: the caller wants no more. Bodies of other statuses are kept for it to show.
bool ClientImpl::hand_out(Client::OnPiece& on_piece) {
  Response& response = parser_.response();
  if (!on_piece || response.body.empty()) return true;
  if (response.status / 100 != 2) return response.body.size() <= config_.body_bytes_max;
  const bool goes_on = on_piece(response.body);
  response.body.clear();
  return goes_on;
}

asio::awaitable<bool> ClientImpl::pass_out(Client::Sink& sink) {
  Response& response = parser_.response();
  if (parser_.state() == AnswerParser::State::kHead) co_return true;
  if (response.status / 100 != 2) co_return response.body.size() <= config_.body_bytes_max;
  const std::string piece = std::exchange(response.body, {});
  // However slow the reader is: what it takes is not the time of the other end.
  disarm();
  co_return co_await sink(response, piece);
}

CallError ClientImpl::broken(const boost::system::error_code& ec) const {
  if (closed_) return {CallFault::kBroken, "closed by this side"};
  if (timed_out_) return {CallFault::kTimedOut, fmt::format("{} did not answer in time", where())};
  const bool said = tls_ && !tls_->trouble().empty();
  return {CallFault::kBroken, fmt::format("the connection to {} closed before the response: {}",
                                          where(), said ? tls_->trouble() : ec.message())};
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
  return ClientImpl::run(impl_, std::move(call), {});
}

asio::awaitable<std::expected<Response, CallError>> Client::stream(Call call, OnPiece on_piece) {
  return ClientImpl::run(impl_, std::move(call), {.on_piece = std::move(on_piece)});
}

asio::awaitable<std::expected<Response, CallError>> Client::relay(Call call, Sink sink) {
  return ClientImpl::run(impl_, std::move(call), {.sink = std::move(sink)});
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
