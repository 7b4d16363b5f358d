#include "controller/event_hub.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vortex::controller {

namespace asio = boost::asio;

void EventHub::publish(std::uint64_t first_seq, std::uint64_t last_seq, std::string lines) {
  std::vector<Bell> sleepers;
  {
    const std::scoped_lock lock(guard_);
    // After a reload the sequence may go on elsewhere: what is kept must be without a hole.
    if (!blocks_.empty() && blocks_.back().last_seq + 1 != first_seq) {
      blocks_.clear();
      bytes_ = 0;
    }
    bytes_ += lines.size();
    blocks_.push_back({first_seq, last_seq, std::make_shared<const std::string>(std::move(lines))});
    last_seq_ = last_seq;
    while (bytes_ > bytes_max_ && blocks_.size() > 1) {
      bytes_ -= blocks_.front().text->size();
      blocks_.pop_front();
    }
    sleepers.swap(sleepers_);
  }
  for (const Bell& sleeper : sleepers) {
    const auto bell = sleeper.lock();
    if (bell) asio::post(bell->get_executor(), [bell] { bell->cancel(); });
  }
}

void EventHub::begin_at(std::uint64_t last_seq) {
  const std::scoped_lock lock(guard_);
  last_seq_ = std::max(last_seq_, last_seq);
}

std::uint64_t EventHub::last_seq() const {
  const std::scoped_lock lock(guard_);
  return last_seq_;
}

EventHub::Next EventHub::look(std::uint64_t after) const {
  Next next;
  if (after >= last_seq_) return next;
  if (blocks_.empty() || blocks_.front().first_seq > after + 1) {
    next.behind = true;
    next.read_to = blocks_.empty() ? last_seq_ : blocks_.front().first_seq - 1;
    return next;
  }
  const auto first =
      std::ranges::find_if(blocks_, [after](const Lines& block) { return block.last_seq > after; });
  next.lines.assign(first, blocks_.end());
  return next;
}

asio::awaitable<EventHub::Next> EventHub::next(std::uint64_t after, Duration wait) {
  const auto bell = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor);
  {
    const std::scoped_lock lock(guard_);
    Next now = look(after);
    if (now.behind || !now.lines.empty() || wait <= Duration{}) co_return now;
    bell->expires_after(std::chrono::microseconds(wait.us));
    std::erase_if(sleepers_, [](const Bell& other) { return other.expired(); });
    sleepers_.push_back(bell);
  }
  co_await bell->async_wait(asio::as_tuple(asio::use_awaitable));
  const std::scoped_lock lock(guard_);
  co_return look(after);
}

}  // namespace vortex::controller
