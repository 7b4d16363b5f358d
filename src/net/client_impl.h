#pragma once
// The inside of the client: its socket, its one timer, and the steps of a call.
//
// Internal to net. Everything here runs on the client's executor; each call holds a reference, so
// the Client may go while its call is under way.

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/answer_parse.h"
#include "net/client.h"
#include "net/client_tls.h"
#include "net/read_buffer.h"

namespace vortex::net {

class ClientImpl : public std::enable_shared_from_this<ClientImpl> {
 public:
  using Answer = std::expected<Response, CallError>;
  using OnPiece = Client::OnPiece;

  ClientImpl(boost::asio::any_io_executor executor, ClientConfig config);

  // `on_piece` may be empty.
  static boost::asio::awaitable<Answer> run(std::shared_ptr<ClientImpl> self, Call call,
                                            OnPiece on_piece);
  void close();  // any thread

 private:
  using Clock = std::chrono::steady_clock;
  using Fault = std::optional<CallError>;
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

  boost::asio::awaitable<Answer> exchange(Call& call, OnPiece& on_piece);
  boost::asio::awaitable<Fault> connect(Clock::time_point limit);
  boost::asio::awaitable<std::expected<Endpoints, CallError>> resolve();
  boost::asio::awaitable<boost::system::error_code> connect_to(
      boost::asio::ip::tcp::endpoint endpoint);
  boost::asio::awaitable<Fault> begin_tls();
  boost::asio::awaitable<void> write_request(const Call& call);
  boost::asio::awaitable<Answer> read_answer(const Call& call, OnPiece& on_piece);
  bool hand_out(OnPiece& on_piece);
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

}  // namespace vortex::net
