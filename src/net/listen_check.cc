#include "net/listen_check.h"

#include <string>

#include <boost/asio/ip/address.hpp>

#include "base/text.h"

namespace vortex::net {

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

}  // namespace vortex::net
