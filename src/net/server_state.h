#pragma once
// What one server and its connections share: the settings, the handler, and who is still there.
//
// Internal to net. A Seat is held for as long as a connection object exists, so that stop() can
// wait until not one of them is left. Counting and calling the roll are safe from any thread.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "net/exchange.h"
#include "net/server.h"

namespace vortex::net {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;
using Timer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>, Strand>;

class Connection;

class ServerState : public std::enable_shared_from_this<ServerState> {
 public:
  ServerState(boost::asio::io_context& io, ServerConfig config, Handler handler, Complain complain);

  // Served like any other; or only answered, because all seats or those of its address are taken.
  enum class Kind : std::uint8_t { kServed, kOverAll, kOverShare };

  struct Place {
    std::uint64_t number = 0;
    Kind kind = Kind::kServed;
    std::string origin;  // of which address it counts as
  };

  class Seat {
   public:
    Seat(std::shared_ptr<ServerState> state, Place place);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    std::uint64_t number() const { return place_.number; }
    Kind kind() const { return place_.kind; }

   private:
    std::shared_ptr<ServerState> state_;
    const Place place_;
  };

  // Where the next connection from this address would sit.
  Place place_for(const boost::asio::ip::address& address);
  void enlist(std::uint64_t number, const std::shared_ptr<Connection>& connection);
  std::vector<std::shared_ptr<Connection>> roll();
  std::uint32_t served() const { return served_.load(); }
  std::uint32_t refused() const { return refused_.load(); }
  std::uint32_t present() const { return served() + refused(); }

  const ServerConfig config;
  const Handler handler;
  const Complain complain;
  // Connections look at their deadlines at least this often: with the shortest of them, no timer
  // has to be set anew for each request.
  const Duration check_interval;
  boost::asio::io_context& io;
  const Strand strand;  // of the accept loop and of stop()

  // On `strand`: for stop(). Every Timer here is cancelled when the last connection has left.
  std::set<Timer*> waiters;
  void wake_waiters();

 private:
  void enter(const Place& place);
  void leave(const Place& place);

  std::atomic<std::uint32_t> served_ = 0;
  std::atomic<std::uint32_t> refused_ = 0;
  std::uint64_t last_number_ = 0;  // on `strand`
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> origins_;  // seats taken, by address
  std::unordered_map<std::uint64_t, std::weak_ptr<Connection>> connections_;
};

}  // namespace vortex::net
