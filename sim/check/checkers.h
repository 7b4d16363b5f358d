#pragma once
// All history checkers together: facts in, violations out.
//
// Fed in the order of true time and with facts only, so they judge a simulated history and one
// read back from a real database alike. After `finish` nothing more may be told. Not for several
// threads: one per history.

#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/state/policy.h"
#include "sim/check/checker.h"
#include "sim/check/picture.h"
#include "sim/history.h"

namespace vortex::sim {

class Checkers {
 public:
  explicit Checkers(const core::Policy& policy);
  ~Checkers() = default;
  Checkers(const Checkers&) = delete;  // the checkers point into it
  Checkers& operator=(const Checkers&) = delete;
  Checkers(Checkers&&) = delete;
  Checkers& operator=(Checkers&&) = delete;

  void fact(Instant true_time, const Fact& fact);
  void finish(Instant true_time);

  const std::vector<Violation>& violations() const { return findings_.all(); }
  std::vector<std::string_view> names() const;  // by number of the invariant

 private:
  core::Policy policy_;
  Findings findings_;
  Picture picture_;
  CheckerList checkers_;
};

}  // namespace vortex::sim
