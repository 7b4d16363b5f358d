#include "net/socket_options.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace vortex::net {
namespace {

void set(int fd, int level, int name, int value) {
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof(value)));
}

int whole_seconds(Duration d) {
  return static_cast<int>(std::clamp<std::int64_t>(d.us / 1'000'000, 1, 32'767));
}

}  // namespace

void tune_socket(int fd, Duration user_timeout) {
  constexpr int kProbes = 2;
  static_cast<void>(::fcntl(fd, F_SETFD, FD_CLOEXEC));
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, whole_seconds(user_timeout / 2));
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, whole_seconds(user_timeout / 4));
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  const std::int64_t ms = std::clamp<std::int64_t>(user_timeout.us / 1'000, 1, INT32_MAX);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(ms));
}

PeerState peek_peer(int fd) {
  // Unread bytes hide the end of the stream from recv; poll sees it all the same.
  pollfd ask{.fd = fd, .events = POLLIN | POLLRDHUP, .revents = 0};
  if (::poll(&ask, 1, 0) < 0) return PeerState::kQuiet;
  if ((ask.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) return PeerState::kGone;
  return (ask.revents & POLLIN) != 0 ? PeerState::kHasData : PeerState::kQuiet;
}

}  // namespace vortex::net
