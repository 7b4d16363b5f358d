// How a connection watches: its own deadlines, and whether the other end is still there.
#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/connection.h"
#include "net/socket_options.h"

namespace vortex::net {
namespace {

namespace asio = boost::asio;

// With unread bytes in the way the socket is always ready, so it is asked now and then instead.
constexpr std::chrono::seconds kLookEvery(1);

}  // namespace

void Connection::set_deadline(Phase phase, Duration limit) {
  phase_ = phase;
  timed_out_ = false;
  const auto now = Clock::now();
  deadline_ = now + to_chrono(limit);
  // In the steady state the timer is already set for an earlier look, and nothing is to be done.
  if (armed_ > deadline_)
    arm_watchdog(std::min(deadline_, now + to_chrono(state_->check_interval)));
}

void Connection::clear_deadline(Phase phase) {
  phase_ = phase;
  deadline_ = Clock::time_point::max();
}

void Connection::arm_watchdog(Clock::time_point at) {
  armed_ = at;
  watchdog_.expires_at(at);
  watchdog_.async_wait([self = shared_from_this()](const boost::system::error_code& ec) {
    if (!ec) self->on_watchdog();
  });
}

void Connection::on_watchdog() {
  armed_ = Clock::time_point::max();
  if (!socket_.is_open() || deadline_ == Clock::time_point::max()) return;
  const auto now = Clock::now();
  if (now < deadline_) {
    return arm_watchdog(std::min(deadline_, now + to_chrono(state_->check_interval)));
  }
  timed_out_ = true;
  deadline_ = Clock::time_point::max();
  boost::system::error_code ec;
  socket_.cancel(ec);
  wake_.cancel();
}

asio::awaitable<void> Connection::closed() {
  while (!stopping_ && socket_.is_open() && !timed_out_) {
    const PeerState peer = peek_peer(socket_.native_handle());
    if (peer == PeerState::kGone) break;
    if (peer == PeerState::kHasData) {
      wake_.expires_after(kLookEvery);
    } else {
      wake_.expires_at(Clock::time_point::max());
      watch_peer();
    }
    const auto [woken] = co_await wake_.async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(woken);  // why does not matter: the loop looks again
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) break;
  }
  stop_watching();
}

void Connection::watch_peer() {
  if (watching_) return;
  watching_ = true;
  socket_.async_wait(
      Socket::wait_read,
      asio::bind_cancellation_slot(
          stop_watch_.slot(), [self = shared_from_this()](const boost::system::error_code& ec) {
            if (ec == asio::error::operation_aborted) return;
            self->watching_ = false;
            self->wake_.cancel();
          }));
}

void Connection::stop_watching() {
  if (!watching_) return;
  watching_ = false;
  stop_watch_.emit(asio::cancellation_type::terminal);
}

}  // namespace vortex::net
