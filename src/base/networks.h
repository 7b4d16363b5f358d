#pragma once
// IP addresses and networks as an operator writes them: `10.0.0.0/8, fd00::/8, 127.0.0.1`.
//
// IPv4 addresses are kept in their mapped form (::ffff:a.b.c.d), so that the same host compares
// equal however it was written or accepted. Reads text alone: nothing is resolved. Pure functions.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vortex {

using IpAddress = std::array<std::uint8_t, 16>;

// `127.0.0.1`, `::1`, `[::1]`, `fe80::1%eth0` (the zone is dropped). Unset: a name, or nonsense.
std::optional<IpAddress> parse_ip(std::string_view text);

// Whether the address is one of the open internet: not loopback, link-local, private, shared,
// multicast, unspecified, or set aside for another purpose. An IPv6 address that carries an IPv4
// address (mapped, 6to4, NAT64) is judged by that one too.
bool is_public(const IpAddress& address);

class Networks {
 public:
  // The error names the part that is not a network.
  static std::expected<Networks, std::string> parse(std::string_view text);
  bool contains(const IpAddress& address) const;

 private:
  struct Network {
    IpAddress base{};
    unsigned bits = 128;
  };
  std::vector<Network> all_;
};

// For the settings table: what is wrong with such a list; empty: nothing.
std::string complain_of_networks(std::string_view text);

}  // namespace vortex
