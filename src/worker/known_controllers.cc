#include "worker/known_controllers.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "net/socket.h"

namespace vortex::worker {

std::vector<net::Endpoint> named_controllers(const net::ClientConfig& teller,
                                             std::string_view named) {
  std::vector<net::Endpoint> endpoints;
  for (std::size_t at = 0; at < named.size() && endpoints.size() < kLearnedMax;) {
    const std::size_t end = std::min(named.find(',', at), named.size());
    const auto endpoint = net::parse_endpoint(named.substr(at, end - at), 0);
    if (endpoint && (endpoint->tls || !teller.endpoint.tls)) endpoints.push_back(*endpoint);
    at = end + 1;
  }
  return endpoints;
}

KnownControllers::KnownControllers(std::vector<net::ClientConfig> given)
    : all_(std::move(given)), given_(all_.size()) {
  VX_ASSERT(given_ > 0);
}

net::ClientConfig KnownControllers::at(std::size_t turn) const {
  const std::scoped_lock lock(guard_);
  return all_[turn % all_.size()];
}

std::size_t KnownControllers::size() const {
  const std::scoped_lock lock(guard_);
  return all_.size();
}

void KnownControllers::learn(const net::ClientConfig& teller, std::string_view named) {
  const std::vector<net::Endpoint> endpoints = named_controllers(teller, named);
  const std::scoped_lock lock(guard_);
  all_.resize(given_, all_.front());
  for (const net::Endpoint& endpoint : endpoints) {
    const bool is_there = std::ranges::any_of(all_, [&endpoint](const net::ClientConfig& one) {
      return net::url_of(one.endpoint) == net::url_of(endpoint);
    });
    if (is_there) continue;
    all_.push_back(teller);
    all_.back().endpoint = endpoint;
  }
}

}  // namespace vortex::worker
