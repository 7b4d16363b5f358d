#include "net/server_state.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "net/connection.h"

namespace vortex::net {
namespace {

Duration shortest_limit(const ServerConfig& config) {
  const Duration shortest =
      std::min({config.head_limit, config.body_limit, config.write_limit, config.idle_limit});
  return std::max(shortest, millis(1));
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

ServerState::Seat::Seat(std::shared_ptr<ServerState> state, std::uint64_t number, Kind kind)
    : state_(std::move(state)), number_(number), kind_(kind) {
  ++(kind_ == Kind::kServed ? state_->served_ : state_->refused_);
}

ServerState::Seat::~Seat() { state_->leave(number_, kind_); }

void ServerState::leave(std::uint64_t number, Kind kind) {
  {
    const std::lock_guard lock(mutex_);
    connections_.erase(number);
  }
  --(kind == Kind::kServed ? served_ : refused_);
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
