#include "api/place.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace vortex::api {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool all_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

struct Authority {
  std::string host;
  std::string port;
};

// Unset: not of the form host[:port].
std::optional<Authority> split(std::string_view text) {
  const auto close = text.starts_with('[') ? text.find(']') : 0;
  if (close == std::string_view::npos) return std::nullopt;
  const auto colon = text.find(':', close);
  Authority out{lower(text.substr(0, colon)), {}};
  if (colon != std::string_view::npos) out.port = text.substr(colon + 1);
  const bool port_missing = colon != std::string_view::npos && out.port.empty();
  if (out.host.empty() || port_missing || !all_digits(out.port)) return std::nullopt;
  return out;
}

// The authority of an origin, with the port that its scheme stands for; unset: not one of ours.
std::optional<Authority> origin_authority(std::string_view origin) {
  const auto end = origin.find("://");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string scheme = lower(origin.substr(0, end));
  if (scheme != "http" && scheme != "https") return std::nullopt;
  auto out = split(origin.substr(end + 3));
  if (out && out->port.empty()) out->port = scheme == "http" ? "80" : "443";
  return out;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const auto parts = split(host);
  if (!parts) return false;
  return parts->host == "localhost" || parts->host == "127.0.0.1" || parts->host == "[::1]";
}

std::optional<Trouble> check_host(const net::Headers& headers, bool loopback_only) {
  if (!loopback_only) return std::nullopt;
  const std::string_view host = net::find_header(headers, "Host").value_or(std::string_view{});
  if (is_loopback_host(host)) return std::nullopt;
  return trouble(Code::kForeignHost, fmt::format("the request is for the host '{}'", host));
}

std::optional<Trouble> check_origin(const net::Headers& headers) {
  const auto origin = net::find_header(headers, "Origin");
  if (!origin) return std::nullopt;
  const auto host = split(net::find_header(headers, "Host").value_or(std::string_view{}));
  const auto from = origin_authority(*origin);
  if (host && from && host->host == from->host) {
    // A Host without a port leaves the scheme open; both standard ports can be meant.
    const bool standard = from->port == "80" || from->port == "443";
    if (host->port == from->port || (host->port.empty() && standard)) return std::nullopt;
  }
  return trouble(Code::kForeignOrigin, fmt::format("the request comes from '{}'", *origin));
}

}  // namespace vortex::api
