#include "controller/advertise.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/networks.h"
#include "net/socket.h"

namespace vortex::controller {
namespace {

constexpr std::uint16_t kDefaultPort = 8080;

bool is_unspecified(const std::string& host) {
  const auto ip = parse_ip(host);
  return ip && (*ip == *parse_ip("0.0.0.0") || *ip == *parse_ip("::"));
}

std::string host_name() {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return host;
}

}  // namespace

std::expected<Advertised, std::string> advertised_url(const std::string& wanted,
                                                      const net::Endpoint& listens, bool is_alone) {
  if (!wanted.empty()) {
    const auto endpoint = net::parse_endpoint(wanted, kDefaultPort);
    if (!endpoint) {
      return std::unexpected(fmt::format(
          "controller.advertise_url = {} is not a URL; write it as https://host:port", wanted));
    }
    if (!is_alone && is_unspecified(endpoint->host)) {
      return std::unexpected(
          fmt::format("controller.advertise_url = {} reaches no particular machine: set it to the "
                      "address or name at which other controllers reach this one",
                      wanted));
    }
    return Advertised{.url = net::url_of(*endpoint), .notice = {}};
  }
  if (!is_unspecified(listens.host)) return Advertised{.url = net::url_of(listens), .notice = {}};
  net::Endpoint named = listens;
  named.host = host_name();
  Advertised made{.url = net::url_of(named), .notice = {}};
  if (!is_alone) {
    made.notice = fmt::format(
        "other controllers, workers and clients are told to reach this controller at {}; set "
        "controller.advertise_url if that is not the right name",
        made.url);
  }
  return made;
}

}  // namespace vortex::controller
