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

inline std::chrono::microseconds to_chrono(Duration d) { return std::chrono::microseconds(d.us); }

class Connection;

class ServerState : public std::enable_shared_from_this<ServerState> {
 public:
  ServerState(boost::asio::io_context& io, ServerConfig config, Handler handler, Complain complain);

  enum class Kind : std::uint8_t { kServed, kRefused };

  class Seat {
   public:
    Seat(std::shared_ptr<ServerState> state, std::uint64_t number, Kind kind);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    std::uint64_t number() const { return number_; }

   private:
    std::shared_ptr<ServerState> state_;
    std::uint64_t number_;
    Kind kind_;
  };

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
  void leave(std::uint64_t number, Kind kind);

  std::atomic<std::uint32_t> served_ = 0;
  std::atomic<std::uint32_t> refused_ = 0;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Connection>> connections_;
};

}  // namespace vortex::net
