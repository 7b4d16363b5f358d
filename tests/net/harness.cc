#include "tests/net/harness.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/answer_parse.h"

namespace vortex::net::test {

using HarnessClock = std::chrono::steady_clock;

namespace {
std::set<std::uint16_t>& tls_ports() {
  static std::set<std::uint16_t> ports;
  return ports;
}
}  // namespace

void forget_tls(std::uint16_t port) { tls_ports().erase(port); }

bool over_tls() { return std::getenv("VX_NET_TLS") != nullptr; }

const TlsFolder& shared_tls() {
  static const TlsFolder folder;
  return folder;
}

IssueOrder server_order() {
  IssueOrder order;
  order.common_name = "server";
  order.names = {"localhost", "127.0.0.1", "::1"};
  order.now = wall_clock_now();
  return order;
}

TlsFolder::TlsFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vortex-tls-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
  authority_ = *make_authority("test CA", 10, wall_clock_now());
  write("ca.pem", authority_.certificate);
  add("server", authority_, server_order());
}

TlsFolder::~TlsFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TlsFolder::write(const std::string& name, const std::string& text) const {
  const std::string fresh = path(name) + ".new";
  std::ofstream(fresh) << text;
  ::chmod(fresh.c_str(), 0600);
  std::filesystem::rename(fresh, path(name));
}

void TlsFolder::add(const std::string& name, const Issued& authority, IssueOrder order) const {
  const auto made = issue(authority, order);
  if (!made) throw std::runtime_error(made.error());
  write(name + ".pem", made->certificate + authority.certificate);
  write(name + ".key", made->key);
}

void Signal::raise() {
  const std::lock_guard lock(mutex_);
  ++count_;
  changed_.notify_all();
}

bool Signal::wait_for(int times, Millis limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return count_ >= times; });
}

int Signal::count() {
  const std::lock_guard lock(mutex_);
  return count_;
}

TestServer::TestServer(Handler handler, ServerConfig config, int threads)
    : io_(threads), work_(boost::asio::make_work_guard(io_)) {
  if (over_tls() && !config.tls) config.tls = *ServerTls::open(shared_tls().server());
  const bool tls = config.tls != nullptr && over_tls();
  auto server = Server::listen(io_, std::move(config), std::move(handler), complain);
  if (!server) throw std::runtime_error(server.error());
  server_ = std::move(*server);
  if (tls) tls_ports().insert(server_->port());
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { io_.run(); });
}

TestServer::~TestServer() {
  if (!stopped_) static_cast<void>(stop());
  work_.reset();
  io_.stop();
  for (auto& thread : threads_) thread.join();
}

std::optional<Millis> TestServer::stop() {
  stopped_ = true;
  const auto begin = HarnessClock::now();
  auto done = boost::asio::co_spawn(io_, server_->stop(), boost::asio::use_future);
  if (done.wait_for(kLong) != std::future_status::ready) return std::nullopt;
  return std::chrono::duration_cast<Millis>(HarnessClock::now() - begin);
}

RawSocket::RawSocket(std::uint16_t port, const std::string& host) {
  const bool v6 = host.find(':') != std::string::npos;
  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  if (::inet_pton(v6 ? AF_INET6 : AF_INET, host.c_str(),
                  v6 ? static_cast<void*>(&six.sin6_addr) : &four.sin_addr) != 1) {
    return;
  }
  fd_ = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* address =
      v6 ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  if (::connect(fd_, address, v6 ? sizeof(six) : sizeof(four)) != 0) close();
  if (connected() && tls_ports().contains(port)) {
    static const TlsContextPtr context = (*ClientTrust::open(shared_tls().client()))->context();
    begin_tls(context);
  }
}

bool RawSocket::begin_tls(const TlsContextPtr& context) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes as to a file
  const timeval limit{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ssl_ = {SSL_new(context.get()), SSL_free};
  SSL_set_fd(ssl_.get(), fd_);
  return SSL_connect(ssl_.get()) == 1;
}

RawSocket::~RawSocket() { close(); }

void RawSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RawSocket::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close();
}

void RawSocket::finish_sending() {
  if (ssl_) SSL_shutdown(ssl_.get());
  ::shutdown(fd_, SHUT_WR);
}

// Like recv().
ssize_t RawSocket::take(std::span<char> room) {
  if (!ssl_) return ::recv(fd_, room.data(), room.size(), 0);
  return SSL_read(ssl_.get(), room.data(), static_cast<int>(room.size()));
}

bool RawSocket::wait_for_bytes(Millis limit) {
  if (ssl_ && SSL_has_pending(ssl_.get()) == 1) return true;
  pollfd ask{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&ask, 1, static_cast<int>(limit.count())) > 0;
}

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                              : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string RawSocket::receive(Millis limit) {
  if (!rest_.empty()) return std::exchange(rest_, {});
  if (!wait_for_bytes(limit)) return {};
  std::string bytes(64 * 1024, '\0');
  const ssize_t count = take(bytes);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

std::string RawSocket::receive_until_closed(Millis limit) {
  const auto end = HarnessClock::now() + limit;
  std::string all;
  while (HarnessClock::now() < end) {
    const std::string piece =
        receive(std::chrono::duration_cast<Millis>(end - HarnessClock::now()));
    if (piece.empty()) break;
    all += piece;
  }
  return all;
}

bool RawSocket::is_closed_within(Millis limit) {
  const auto end = HarnessClock::now() + limit;
  while (HarnessClock::now() < end) {
    const auto left = std::chrono::duration_cast<Millis>(end - HarnessClock::now());
    if (!wait_for_bytes(left)) continue;
    std::array<char, 4096> bytes{};
    if (take(bytes) <= 0) return true;
  }
  return false;
}

std::optional<Response> RawSocket::answer(Method method, Millis limit) {
  AnswerParser parser(1ULL << 30U);
  parser.reset(method, 1ULL << 30U);
  const auto end = HarnessClock::now() + limit;
  std::string bytes;
  while (parser.state() != AnswerParser::State::kDone) {
    const std::string piece =
        receive(std::chrono::duration_cast<Millis>(end - HarnessClock::now()));
    if (piece.empty()) parser.end_of_stream();
    if (piece.empty()) break;
    bytes += piece;
    bytes.erase(0, parser.feed(bytes));
    if (parser.state() == AnswerParser::State::kRefused) return std::nullopt;
  }
  rest_ = bytes;
  if (parser.state() != AnswerParser::State::kDone) return std::nullopt;
  return parser.response();
}

std::string described(const Request& request) {
  std::string text = fmt::format("{}\n", to_text(request.method));
  for (const auto& segment : request.segments) text += fmt::format("/{}\n", segment);
  for (const auto& [name, value] : request.query.items) text += fmt::format("{}={}\n", name, value);
  return text + request.body;
}

namespace {
boost::asio::awaitable<Response> answer_echo(Exchange& exchange) {
  Response response;
  response.content_type = "text/plain";
  response.body = described(exchange.request());
  co_return response;
}
}  // namespace

Handler echo() { return answer_echo; }

Response complain(int status, std::string_view detail) {
  Response response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = fmt::format("complaint: {}", detail);
  return response;
}

std::string get(std::string_view target) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target);
}

std::string post(std::string_view target, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", target,
                     body.size(), body);
}

ClientConfig client_of(std::uint16_t port) {
  ClientConfig config;
  config.endpoint.port = port;
  if (!tls_ports().contains(port)) return config;
  config.endpoint.tls = true;
  config.trust = *ClientTrust::open(shared_tls().client());
  return config;
}

}  // namespace vortex::net::test
