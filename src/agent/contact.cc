#include "agent/contact.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "base/reached.h"

namespace vortex::agent {

namespace {

constexpr Instant kAtOnce{std::numeric_limits<std::int64_t>::min()};
constexpr std::uint32_t kDoublingsMax = 20;  // beyond any cap, and far from overflow

}  // namespace

Contact::Contact(std::uint32_t controllers, Duration backoff_max, std::uint64_t seed)
    : controllers_(controllers),
      backoff_max_(std::max(backoff_max, micros(1))),
      rng_(seed),
      not_before_(kAtOnce) {
  VX_ASSERT(controllers > 0);
}

void Contact::succeeded(const Callee& callee) {
  current_ = callee.controller;
  not_before_ = kAtOnce;
  failures_ = 0;
  hops_ = 0;
}

void Contact::failed(const Failure& failure, Instant now) {
  // Another call has told us already.
  if (failure.callee.controller != current_ || failure.callee.turn != turn_) return;
  ++turn_;
  const bool hinted =
      failure.leader.valid() && failure.leader.value < controllers_ && failure.leader != current_;
  if (hinted && hops_ < controllers_) {
    ++hops_;
    current_ = failure.leader;
    not_before_ = kAtOnce;
    return;
  }
  if (hinted) REACHED("agent: controllers point at each other");
  current_ = hinted ? failure.leader : ControllerIx{(current_.value + 1) % controllers_};
  wait(failure.retry_after, now);
}

void Contact::wait(Duration at_least, Instant now) {
  const Duration doubled = kBackoffBase * (std::int64_t{1} << std::min(failures_, kDoublingsMax));
  const Duration full = std::min(doubled, backoff_max_);
  const Duration drawn = rng_.between(full / 2, full);
  ++failures_;
  // However long the controller asks us to stay away: the self-fence does not wait.
  not_before_ = now + std::max(drawn, std::min(at_least, backoff_max_));
}

}  // namespace vortex::agent
