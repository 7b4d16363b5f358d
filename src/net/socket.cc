#include "net/socket.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/text.h"
#include "net/client.h"

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

bool is_loopback(std::string_view address) {
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  if (same_ignoring_case(address, "localhost")) return true;
  boost::system::error_code ec;
  const auto parsed = boost::asio::ip::make_address(std::string(address), ec);
  if (ec) return false;
  if (parsed.is_v6() && parsed.to_v6().is_v4_mapped()) {
    const auto inner = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, parsed.to_v6());
    return inner.is_loopback();
  }
  return parsed.is_loopback();
}

namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, is_host_char);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  if (!all_digits(text)) return std::nullopt;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (fault != std::errc()) return std::nullopt;
  return port;
}

enum class Scheme : std::uint8_t { kNone, kHttp, kHttps, kOther };

Scheme take_scheme(std::string_view& text) {
  const std::size_t mark = text.find("://");
  if (mark == text.npos) return Scheme::kNone;
  const std::string_view word = text.substr(0, mark);
  text.remove_prefix(mark + 3);
  if (same_ignoring_case(word, "http")) return Scheme::kHttp;
  return same_ignoring_case(word, "https") ? Scheme::kHttps : Scheme::kOther;
}

// [::1] at the front: its inside, and `text` is what follows.
std::optional<std::string> take_bracketed(std::string_view& text) {
  const std::size_t end = text.find(']');
  if (end == text.npos) return std::nullopt;
  std::string host(text.substr(1, end - 1));
  boost::system::error_code ec;
  static_cast<void>(boost::asio::ip::make_address_v6(host, ec));
  if (ec) return std::nullopt;
  text.remove_prefix(end + 1);
  return host;
}

std::optional<std::string> take_host(std::string_view& text) {
  if (text.starts_with('[')) return take_bracketed(text);
  const std::size_t end = std::min(text.find(':'), text.size());
  const std::string_view host = text.substr(0, end);
  if (!is_host_name(host)) return std::nullopt;
  text.remove_prefix(end);
  return std::string(host);
}

}  // namespace

std::optional<Endpoint> parse_listener(std::string_view text, std::uint16_t default_port) {
  auto host = take_host(text);
  if (!host) return std::nullopt;
  Endpoint endpoint;
  endpoint.host = std::move(*host);
  endpoint.port = default_port;
  if (text.empty()) return endpoint;
  if (!text.starts_with(':')) return std::nullopt;
  const auto port = parse_port(text.substr(1));
  if (!port) return std::nullopt;
  endpoint.port = *port;
  return endpoint;
}

std::optional<Endpoint> parse_endpoint(std::string_view text, std::uint16_t default_port) {
  const Scheme scheme = take_scheme(text);
  if (scheme == Scheme::kOther) return std::nullopt;
  const bool tls = scheme == Scheme::kHttps;
  if (text.ends_with('/')) text.remove_suffix(1);
  auto endpoint = parse_listener(text, tls ? kHttpsPort : default_port);
  if (!endpoint || endpoint->port == 0) return std::nullopt;
  endpoint->tls = tls;
  return endpoint;
}

std::string url_of(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.contains(':');
  return fmt::format("{}://{}{}{}:{}", endpoint.tls ? "https" : "http", v6 ? "[" : "",
                     endpoint.host, v6 ? "]" : "", endpoint.port);
}

bool is_in_clear(const Endpoint& endpoint) { return !endpoint.tls && !is_loopback(endpoint.host); }

std::optional<WebAddress> parse_web_address(std::string_view text) {
  std::string_view rest = text;
  const Scheme scheme = take_scheme(rest);
  if (scheme != Scheme::kHttp && scheme != Scheme::kHttps) return std::nullopt;
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view target = rest.substr(end);
  // A part after # is the reader's, not the server's; the rest would end the request line early.
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F; };
  if (std::ranges::any_of(target, is_bad) || target.contains('#')) return std::nullopt;
  const auto endpoint = parse_endpoint(text.substr(0, text.size() - target.size()), kHttpPort);
  if (!endpoint) return std::nullopt;
  WebAddress address{*endpoint, std::string(target)};
  if (!target.starts_with('/')) address.target.insert(0, 1, '/');
  return address;
}

}  // namespace vortex::net
