#include "net/server_state.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "net/connection.h"
#include "net/socket.h"

namespace vortex::net {
namespace {

Duration shortest_limit(const ServerConfig& config) {
  const Duration shortest =
      std::min({config.head_limit, config.body_limit, config.write_limit, config.idle_limit});
  return std::max(shortest, millis(1));
}

// One household of addresses: an IPv6 network hands out a whole /64 to each host.
std::string origin_of(const boost::asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const auto six = address.to_v6();
  if (six.is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, six).to_string();
  }
  auto bytes = six.to_bytes();
  if (!six.is_loopback()) std::fill(bytes.begin() + 8, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes).to_string();
}

}  // namespace

ServerState::ServerState(boost::asio::io_context& io_context, ServerConfig server_config,
                         Handler request_handler, Complain complainer)
    : config(std::move(server_config)),
      handler(std::move(request_handler)),
      complain(std::move(complainer)),
      check_interval(shortest_limit(config)),
      io(io_context),
      strand(boost::asio::make_strand(io_context)) {}

ServerState::Place ServerState::place_for(const boost::asio::ip::address& address) {
  Place place{++last_number_, Kind::kServed, origin_of(address)};
  if (served() >= config.connections_max) {
    place.kind = Kind::kOverAll;
    return place;
  }
  if (config.connections_per_address_max == 0) return place;
  const std::uint32_t generous = std::max(config.connections_max / 4 * 3, 1U);
  const std::uint32_t share =
      is_loopback(place.origin) ? generous : std::min(generous, config.connections_per_address_max);
  const std::lock_guard lock(mutex_);
  const auto taken = origins_.find(place.origin);
  if (taken != origins_.end() && taken->second >= share) place.kind = Kind::kOverShare;
  return place;
}

ServerState::Seat::Seat(std::shared_ptr<ServerState> state, Place place)
    : state_(std::move(state)), place_(std::move(place)) {
  state_->enter(place_);
}

ServerState::Seat::~Seat() { state_->leave(place_); }

void ServerState::enter(const Place& place) {
  if (place.kind == Kind::kServed) {
    const std::lock_guard lock(mutex_);
    ++origins_[place.origin];
  }
  ++(place.kind == Kind::kServed ? served_ : refused_);
}

void ServerState::leave(const Place& place) {
  {
    const std::lock_guard lock(mutex_);
    connections_.erase(place.number);
    const auto mine = origins_.find(place.origin);
    if (place.kind == Kind::kServed && --mine->second == 0) origins_.erase(mine);
  }
  --(place.kind == Kind::kServed ? served_ : refused_);
  if (present() > 0) return;
  // On the strand, so that it cannot fall between stop()'s look at the count and its wait.
  boost::asio::post(strand, [state = shared_from_this()] { state->wake_waiters(); });
}

void ServerState::wake_waiters() {
  for (Timer* waiter : waiters) waiter->cancel();
}

void ServerState::enlist(std::uint64_t number, const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  connections_.emplace(number, connection);
}

std::vector<std::shared_ptr<Connection>> ServerState::roll() {
  std::vector<std::shared_ptr<Connection>> present;
  const std::lock_guard lock(mutex_);
  present.reserve(connections_.size());
  for (const auto& [number, connection] : connections_) {
    if (auto alive = connection.lock()) present.push_back(std::move(alive));
  }
  return present;
}

}  // namespace vortex::net
