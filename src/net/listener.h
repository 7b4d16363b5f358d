#pragma once
// The listening socket and its accept loop, which no client and no lack of descriptors can end.
//
// Internal to net. Runs on the server's strand. When descriptors run out it turns the newest away
// through a spare one and pauses; it never spins.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/server_state.h"

namespace vortex::net {

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
  void turn_some_away();
  boost::asio::awaitable<void> pause();

  std::shared_ptr<ServerState> state_;
  Acceptor acceptor_;
  Timer pause_;
  std::uint64_t last_number_ = 0;
  std::uint16_t port_ = 0;
  int spare_ = -1;
  bool running_ = false;
};

}  // namespace vortex::net
