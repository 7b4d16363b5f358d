#include "base/networks.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace vortex {
namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;

bool shares_bits(const IpAddress& a, const IpAddress& b, unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFFU << (8 - bits % 8));
  return (a[whole] & mask) == (b[whole] & mask);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

IpAddress mapped(const std::uint8_t* four) {
  IpAddress out{};
  out[10] = out[11] = 0xFF;
  std::copy_n(four, 4, out.begin() + 12);
  return out;
}

// What is not of the open internet (the special-purpose registries of IANA).
constexpr std::string_view kSpecial =
    "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, "
    "192.0.0.0/24, 192.0.2.0/24, 192.88.99.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, "
    "203.0.113.0/24, 224.0.0.0/3, ::/128, ::1/128, 100::/64, 2001::/23, 2001:db8::/32, fc00::/7, "
    "fe80::/9, ff00::/8, 5f00::/16, ::/96";

// Networks whose addresses carry an IPv4 address, and where in them it stands.
struct Carrier {
  std::string_view network;
  std::size_t at;
};
constexpr Carrier kCarriers[] = {{"64:ff9b::/96", 12}, {"64:ff9b:1::/48", 12}, {"2002::/16", 2}};

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));
  constexpr std::size_t kTextMax = 64;
  if (text.empty() || text.size() > kTextMax || text.contains('\0')) return std::nullopt;
  const std::string whole(text);
  in_addr four{};
  if (::inet_pton(AF_INET, whole.c_str(), &four) == 1) {
    std::array<std::uint8_t, 4> bytes{};
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&four), bytes.size(), bytes.begin());
    return mapped(bytes.data());
  }
  IpAddress six{};
  if (::inet_pton(AF_INET6, whole.c_str(), six.data()) == 1) return six;
  return std::nullopt;
}

bool is_public(const IpAddress& address) {
  static const Networks special = Networks::parse(kSpecial).value();
  if (special.contains(address)) return false;
  for (const Carrier& carrier : kCarriers) {
    if (!Networks::parse(carrier.network)->contains(address)) continue;
    return is_public(mapped(address.data() + carrier.at));
  }
  return true;
}

std::expected<Networks, std::string> Networks::parse(std::string_view text) {
  Networks out;
  while (!trimmed(text).empty()) {
    const auto comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const auto slash = part.find('/');
    const auto base = parse_ip(part.substr(0, slash));
    const bool four = base && part.substr(0, slash).find(':') == std::string_view::npos;
    unsigned bits = four ? kBits - kMappedBits : kBits;
    const unsigned bits_max = bits;
    bool fine = base.has_value();
    if (fine && slash != std::string_view::npos) {
      const std::string_view count = part.substr(slash + 1);
      const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), bits);
      fine = error == std::errc{} && end == count.data() + count.size() && bits <= bits_max;
    }
    if (!fine) return std::unexpected(std::string(part));
    out.all_.push_back({*base, four ? bits + kMappedBits : bits});
  }
  return out;
}

bool Networks::contains(const IpAddress& address) const {
  return std::ranges::any_of(all_, [&](const Network& network) {
    return shares_bits(address, network.base, network.bits);
  });
}

std::string complain_of_networks(std::string_view text) {
  const auto networks = Networks::parse(text);
  if (networks) return {};
  return fmt::format("contains '{}', which is not a network", networks.error());
}

}  // namespace vortex
