#pragma once
// What the tests of net share: a real server on a free port of 127.0.0.1, and a raw socket.
//
// The raw socket sends exactly the bytes it is given, whole or in parts, and waits with a limit for
// what comes back. Signals between threads wait with a limit too; nothing here sleeps. With
// VX_NET_TLS set, servers and what connects to them speak TLS: the same tests, encrypted.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "net/client.h"
#include "net/server.h"
#include "net/tls_files.h"

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
  RawSocket(RawSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), ssl_(std::move(other.ssl_)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  bool connected() const { return fd_ >= 0; }
  bool begin_tls(const TlsContextPtr& context);  // false: refused
  ssl_st* tls() { return ssl_.get(); }
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
  ssize_t take(std::span<char> room);
  bool wait_for_bytes(Millis limit);

  int fd_ = -1;
  std::shared_ptr<ssl_st> ssl_;  // null: plain
  std::string rest_;
};

// A CA, and certificates of a server and of clients that it has signed, as files in a folder of
// their own.
class TlsFolder {
 public:
  TlsFolder();
  ~TlsFolder();
  TlsFolder(const TlsFolder&) = delete;
  TlsFolder& operator=(const TlsFolder&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  ServerTlsFiles server() const { return {path("server.pem"), path("server.key"), {}, false}; }
  ClientTlsFiles client() const { return {path("ca.pem"), {}, {}}; }
  const Issued& authority() const { return authority_; }
  // NAME.pem and NAME.key.
  void add(const std::string& name, const Issued& authority, IssueOrder order) const;
  void write(const std::string& name, const std::string& text) const;

 private:
  std::string folder_;
  Issued authority_;
};
IssueOrder server_order();
bool over_tls();  // VX_NET_TLS is set
// Somebody who does not speak TLS listens there now, maybe where a server of ours did before.
void forget_tls(std::uint16_t port);
const TlsFolder& shared_tls();  // of the servers that speak TLS for that reason

// Answers with what was asked: method, segments, query and body, one per line.
Handler echo();
std::string described(const Request& request);
Response complain(int status, std::string_view detail);
std::string get(std::string_view target = "/");
std::string post(std::string_view target, std::string_view body);
ClientConfig client_of(std::uint16_t port);

}  // namespace vortex::net::test
