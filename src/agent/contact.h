#pragma once
// Which controller to call, and not before when.
//
// A failure moves on to the next one after a wait that doubles and is jittered; a hint at the
// leader is followed at once, but only so often in a row, because two controllers may point at each
// other. Several calls that fail with the same controller count as one failure. Sends nothing.

#include <algorithm>
#include <cstdint>

#include "agent/messages.h"
#include "base/rng.h"
#include "base/time.h"

namespace vortex::agent {

constexpr Duration kBackoffBase = millis(100);

// Whom a call was made to, and which failure came last before it.
struct Callee {
  ControllerIx controller;
  std::uint64_t turn = 0;
};

struct Failure {
  Callee callee;
  Duration retry_after;
  ControllerIx leader;
};

class Contact {
 public:
  Contact(std::uint32_t controllers, Duration backoff_max, std::uint64_t seed);

  Callee callee() const { return {current_, turn_}; }
  bool may_call(Instant now) const { return now >= not_before_; }
  Instant not_before() const { return not_before_; }
  bool in_trouble() const { return failures_ + hops_ > 0; }
  // No controller has answered since it was asked last.
  bool all_failed() const { return failures_ >= controllers_; }

  // There are this many controllers now; never fewer than before.
  void know(std::uint32_t controllers) { controllers_ = std::max(controllers_, controllers); }
  void succeeded(const Callee& callee);
  void failed(const Failure& failure, Instant now);
  // Stay with this controller, but wait as after a failure.
  void hold_back(Instant now) { wait(Duration{}, now); }

 private:
  void wait(Duration at_least, Instant now);

  std::uint32_t controllers_;
  Duration backoff_max_;
  Rng rng_;
  ControllerIx current_{0};
  Instant not_before_;
  std::uint64_t turn_ = 0;      // grows with every failure acted on
  std::uint32_t failures_ = 0;  // since the last success
  std::uint32_t hops_ = 0;      // hints followed since the last success
};

}  // namespace vortex::agent
