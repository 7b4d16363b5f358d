#pragma once
// The URL at which others reach a controller: what it writes beside its name in the database.
//
// Made from controller.advertise_url or, without it, from where it listens. Never an address that
// stands for all addresses of a machine when there are other controllers: they would call
// themselves.

#include <expected>
#include <string>

#include "net/client.h"

namespace vortex::controller {

struct Advertised {
  std::string url;
  std::string notice;  // for the log; empty: nothing to say
};
// `listens` is the listener as it was opened, with its real port. The error is a sentence with a
// fix.
std::expected<Advertised, std::string> advertised_url(const std::string& wanted,
                                                      const net::Endpoint& listens, bool is_alone);

}  // namespace vortex::controller
