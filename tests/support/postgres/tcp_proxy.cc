#include "tests/support/postgres/tcp_proxy.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace vortex::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool send_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

TcpProxy::TcpProxy(std::uint16_t server_port)
    : server_port_(server_port),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

TcpProxy::~TcpProxy() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_, &one, sizeof one));
  thread_.join();
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.server);
  }
  ::close(listener_);
  ::close(stop_);
}

void TcpProxy::arm(std::string text, Cut how) {
  const std::scoped_lock lock(guard_);
  armed_ = std::move(text);
  how_ = how;
  has_cut_ = false;
}

TcpProxy::Cut TcpProxy::wanted(const std::string& data) {
  const std::scoped_lock lock(guard_);
  if (armed_.empty() || data.find(armed_) == std::string::npos) return Cut::kNever;
  armed_.clear();
  has_cut_ = true;
  return how_;
}

void TcpProxy::run() {
  while (true) {
    std::vector<pollfd> waits{{.fd = stop_, .events = POLLIN, .revents = 0},
                              {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Pair& pair : pairs_) {
      const bool silent = pair.dying == Cut::kSilence || pair.dying == Cut::kStall;
      waits.push_back({.fd = silent ? -1 : pair.client, .events = POLLIN, .revents = 0});
      waits.push_back({.fd = silent ? -1 : pair.server, .events = POLLIN, .revents = 0});
    }
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[0].revents != 0) return;
    std::vector<Pair> alive;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      Pair& pair = pairs_[i];
      bool lives = waits[2 + 2 * i].revents == 0 || pass(pair, true);
      lives = lives && (waits[3 + 2 * i].revents == 0 || pass(pair, false));
      if (lives) {
        alive.push_back(pair);
        continue;
      }
      ::close(pair.client);
      ::close(pair.server);
    }
    pairs_ = std::move(alive);
    if (waits[1].revents != 0) take_new();
  }
}

void TcpProxy::take_new() {
  Pair pair;
  pair.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (pair.client < 0) return;
  pair.server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(server_port_);
  if (::connect(pair.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(pair.client);
    ::close(pair.server);
    return;
  }
  pairs_.push_back(pair);
}

bool TcpProxy::pass(Pair& pair, bool from_client) {
  std::array<char, 65536> buffer{};
  const ssize_t got =
      ::recv(from_client ? pair.client : pair.server, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  const std::string data(buffer.data(), static_cast<std::size_t>(got));
  if (!from_client) return pair.dying != Cut::kAfterAnswer && send_all(pair.client, data);
  const Cut cut = wanted(data);
  if (cut == Cut::kBeforeServer) return false;
  if (cut != Cut::kNever) pair.dying = cut;
  if (cut == Cut::kStall) return true;
  return send_all(pair.server, data);
}

}  // namespace vortex::testing
