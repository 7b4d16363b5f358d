#pragma once
// Where everything that really happens is written down: for the checkers, the hash and the trace.
//
// Facts come in the order of true time. The hash covers all of them, so two runs of one seed can
// be compared by one number. Trace lines are made only when somebody reads them.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "core/state/policy.h"
#include "sim/agenda.h"
#include "sim/check/checkers.h"
#include "sim/history.h"

namespace vortex::sim {

struct TraceLine {
  Instant at;
  std::string who;
  std::string what;
};
using TraceSink = std::function<void(const TraceLine&)>;
using FactTap = std::function<void(Instant, const Fact&)>;

class Recorder {
 public:
  Recorder(const Agenda& agenda, const core::Policy& policy, TraceSink sink);

  void fact(const Fact& fact);
  // Somebody who reads along.
  void set_tap(FactTap tap) { tap_ = std::move(tap); }
  bool is_tracing() const { return static_cast<bool>(sink_); }
  // Only for people; no part of the history.
  void note(std::string_view who, std::string what);

  // Something is wrong that no checker of facts can see.
  void violation(std::string invariant, std::string detail);
  void finish();

  std::vector<Violation> violations() const;
  bool any_violation() const { return !own_.empty() || !checkers_.violations().empty(); }
  std::uint64_t hash() const { return hash_.value(); }
  std::uint64_t facts() const { return facts_; }
  std::size_t invariants() const { return checkers_.names().size(); }

 private:
  const Agenda& agenda_;
  TraceSink sink_;
  FactTap tap_;
  Checkers checkers_;
  Hasher hash_;
  std::uint64_t facts_ = 0;
  std::vector<Violation> own_;
};

}  // namespace vortex::sim
