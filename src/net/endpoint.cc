#include <algorithm>
#include <charconv>
#include <string>

#include <boost/asio/ip/address_v6.hpp>

#include "net/client.h"
#include "net/text.h"

namespace vortex::net {
namespace {

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

bool take_scheme(std::string_view& text) {
  const std::size_t mark = text.find("://");
  if (mark == text.npos) return true;
  if (!same_ignoring_case(text.substr(0, mark), "http")) return false;
  text.remove_prefix(mark + 3);
  return true;
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
  if (!take_scheme(text)) return std::nullopt;
  if (text.ends_with('/')) text.remove_suffix(1);
  auto endpoint = parse_listener(text, default_port);
  if (endpoint && endpoint->port == 0) return std::nullopt;
  return endpoint;
}

}  // namespace vortex::net
