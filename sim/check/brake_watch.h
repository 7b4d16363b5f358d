#pragma once
// When the controller's brake was on, as its events tell it.
//
// The brake is the memory of one leader: a new term starts without. Times are of the term clock.

#include <optional>
#include <vector>

#include "base/time.h"
#include "sim/history.h"

namespace vortex::sim {

enum class BrakePhase : std::uint8_t { kOff, kHolding, kTrickle };

class BrakeWatch {
 public:
  void fact(const Fact& fact);

  // None when it changed at that very time: what came first cannot be told.
  std::optional<BrakePhase> phase_at(Instant at) const;
  bool was_on_within(Instant from, Instant to) const;

 private:
  struct Change {
    Instant at;
    BrakePhase to;
  };
  Term term_;
  std::vector<Change> changes_;  // of this term, in order
};

}  // namespace vortex::sim
