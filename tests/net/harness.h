#pragma once
// What the tests of net share: a real server on a free port of 127.0.0.1, and a raw socket.
//
// The raw socket sends exactly the bytes it is given, whole or in parts, and waits with a limit for
// what comes back. Signals between threads wait with a limit too; nothing here sleeps.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "net/client.h"
#include "net/server.h"

namespace vortex::net::test {

using Millis = std::chrono::milliseconds;
constexpr Millis kLong(10'000);  // no test waits this long unless it fails

// Counts what happened; tests wait until it has happened often enough.
class Signal {
 public:
  void raise();
  bool wait_for(int times, Millis limit = kLong);
  int count();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class TestServer {
 public:
  explicit TestServer(Handler handler, ServerConfig config = {}, int threads = 2);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::uint16_t port() const { return server_->port(); }
  Server& server() { return *server_; }
  boost::asio::io_context& io() { return io_; }
  // How long stop() took; unset: it did not return.
  std::optional<Millis> stop();

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<Server> server_;
  std::vector<std::thread> threads_;
  bool stopped_ = false;
};

class RawSocket {
 public:
  explicit RawSocket(std::uint16_t port, const std::string& host = "127.0.0.1");
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  bool connected() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // False: the other end does not take it any more.
  bool send(std::string_view bytes);
  // What comes next; empty: closed, or nothing within the limit.
  std::string receive(Millis limit = kLong);
  std::string receive_until_closed(Millis limit = kLong);
  bool is_closed_within(Millis limit);  // reads and drops what still comes
  // One whole answer; bytes behind it stay for the next call.
  std::optional<Response> answer(Method method = Method::kGet, Millis limit = kLong);
  void finish_sending();  // half close
  void reset();           // RST instead of an orderly end
  void close();

 private:
  int fd_ = -1;
  std::string rest_;
};

// Answers with what was asked: method, segments, query and body, one per line.
Handler echo();
std::string described(const Request& request);
Response complain(int status, std::string_view detail);
std::string get(std::string_view target = "/");
std::string post(std::string_view target, std::string_view body);
ClientConfig client_of(std::uint16_t port);

}  // namespace vortex::net::test
