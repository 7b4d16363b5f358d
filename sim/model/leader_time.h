#pragma once
// How much time of its own a leader has had at least: time in which it was there to judge others.
//
// A leader that was away (paused, or held up) adds what it missed to every deadline. From outside
// only moments are known at which it certainly acted. Between two that are close it was there;
// where they lie further apart only one sweep is counted. So this clock is never ahead of its own.

#include <variant>
#include <vector>

#include "base/time.h"
#include "sim/history.h"

namespace vortex::sim {

// Knows a term that begins from one that began long ago: a leader that was overtaken while it
// loaded may still say that it began, and changes nothing by that.
class LatestTerm {
 public:
  // Whether this fact begins a term.
  bool begins(const Fact& fact) {
    const auto* began = std::get_if<TermBegan>(&fact);
    if (began == nullptr || began->term < term_) return false;
    term_ = began->term;
    return true;
  }

 private:
  Term term_;
};

class LeaderTime {
 public:
  explicit LeaderTime(Duration sweep) : sweep_(sweep) {}

  void fact(const Fact& fact);
  Term term() const { return term_; }
  Instant began() const { return began_; }
  // The least that has passed for the leader from one moment of its term to a later one. It acted
  // at both, also where no fact has told of it yet.
  Duration between(Instant from, Instant to) const { return own(to) - own(from); }

 private:
  struct Gap {
    Instant begin;
    Instant end;
    Duration away;  // all of it up to here
  };
  void acted(Term term, Instant at);
  Instant own(Instant at) const;

  Duration sweep_;
  LatestTerm latest_;
  Term term_;
  Instant began_;
  Instant last_;
  std::vector<Gap> gaps_;
};

}  // namespace vortex::sim
