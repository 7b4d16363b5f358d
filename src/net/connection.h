#pragma once
// One connection of the server from accept to close: requests in order, one at a time.
//
// Internal to net. All of it runs on the connection's strand; only begin_stop() and cut() may be
// called from elsewhere. One lazy timer watches whatever deadline is current. Everything that is
// pending keeps the object alive, and the object keeps its seat in the server.
//
//   [handshake ->] idle -> head -> body -> handler -> write -> idle ...     refused: write ->
//   linger -> closed With bodies on demand, the handler begins after the head and goes back to read
//   the body.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "net/exchange.h"
#include "net/http_parse.h"
#include "net/read_buffer.h"
#include "net/server_state.h"
#include "net/tls_channel.h"

namespace vortex::net {

class Connection final : public Exchange,
                         public Stream,
                         public std::enable_shared_from_this<Connection> {
 public:
  static constexpr Duration kLingerLimit = seconds(1);

  Connection(std::shared_ptr<ServerState> state, Socket socket, ServerState::Place place);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Its whole life, as a coroutine of its own.
  void start();
  // No further request; waiters of closed() wake. An answer under way is finished.
  void begin_stop();
  // Ends at once whatever goes on.
  void cut();

  const Request& request() const override;
  Request& request() override;
  boost::asio::any_io_executor executor() override { return socket_.get_executor(); }
  bool has_body() const override;
  boost::asio::awaitable<std::optional<Refusal>> read_body(BodyTerms terms) override;
  void drop_body() override;
  void wipe_request();
  boost::asio::awaitable<void> closed() override;
  boost::asio::awaitable<Stream*> begin_stream(int status, std::string content_type,
                                               Headers headers) override;
  boost::asio::awaitable<bool> write(std::string_view piece) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Buffers = std::array<boost::asio::const_buffer, 3>;
  enum class Phase : std::uint8_t { kIdle, kHead, kBody, kHandler, kWrite, kLinger };
  enum class Streaming : std::uint8_t { kNo, kChunks, kRaw, kHeadOnly, kBroken };
  enum class Got : std::uint8_t { kRequest, kRefusal, kNothing };

  boost::asio::awaitable<void> live();
  boost::asio::awaitable<bool> begin_tls();
  boost::asio::awaitable<bool> shake_hands();
  Duration first_limit() const;
  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<void> serve_vital();
  boost::asio::awaitable<Got> read_request();
  boost::asio::awaitable<Got> read_head();
  boost::asio::awaitable<Got> read_rest();
  boost::asio::awaitable<Got> read_more();
  boost::asio::awaitable<bool> read_some();
  boost::asio::awaitable<bool> read_decrypted(std::span<char> room);
  boost::asio::awaitable<bool> answer();
  boost::asio::awaitable<bool> call_handler(Response& response);
  boost::asio::awaitable<bool> send(const Response& response);
  boost::asio::awaitable<bool> end_stream();
  boost::asio::awaitable<void> refuse(Refusal why);
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<bool> send_continue();
  boost::asio::awaitable<bool> write_all(Buffers buffers);
  Response complaint(const Refusal& why) const;
  Refusal too_slow() const;
  bool is_vital() const;

  void set_deadline(Phase phase, Duration limit);
  void clear_deadline(Phase phase);
  void arm_watchdog(Clock::time_point at);
  void on_watchdog();
  void watch_peer();
  void stop_watching();
  void close();

  const std::shared_ptr<ServerState> state_;
  const ServerState::Seat seat_;  // after state_: it leaves before the state goes
  Socket socket_;
  std::unique_ptr<TlsChannel> tls_;  // null: plain
  Timer watchdog_;
  Timer wake_;  // whoever waits in closed() waits for this
  boost::asio::cancellation_signal kill_;
  boost::asio::cancellation_signal stop_watch_;
  RequestParser parser_;
  ReadBuffer in_;
  std::string out_;    // heads, and small bodies
  ByteCharge charge_;  // for the body in memory
  std::string peer_;
  std::string client_id_;
  std::string peer_name_;
  const Clock::time_point opened_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();
  Phase phase_ = Phase::kIdle;
  Streaming streaming_ = Streaming::kNo;
  bool first_ = true;       // no request has come yet
  bool timed_out_ = false;  // the watchdog ended the current wait
  bool keep_alive_ = true;
  bool stopping_ = false;
  bool cut_ = false;
  bool watching_ = false;  // an asynchronous look at the socket is under way
};

}  // namespace vortex::net
