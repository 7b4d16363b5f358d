#include "sim/shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/setup.h"

namespace vortex::sim {

namespace {

constexpr std::uint32_t kTriesMax = 400;

class Shrinker {
 public:
  Shrinker(Case failing, Failure failure) : result_{std::move(failing), std::move(failure), 0} {}

  Shrunk run() {
    drop_kinds();
    const Setup setup = draw_setup(result_.small);
    drop_from(&Case::no_faults, setup.faults.size());
    drop_from(&Case::no_acts, setup.acts.size());
    // A liveness failure for want of workers would prove nothing.
    if (!result_.failure.invariant.starts_with("27")) {
      drop_from(&Case::no_workers, setup.workers.size());
    }
    return result_;
  }

 private:
  bool still_fails(const Case& candidate) {
    if (result_.tried >= kTriesMax) return false;
    ++result_.tried;
    const Outcome outcome = run_isolated(candidate);
    if (!outcome.failure || outcome.failure->invariant != result_.failure.invariant) return false;
    result_.small = candidate;
    result_.failure = *outcome.failure;
    return true;
  }

  void drop_kinds() {
    const Setup setup = draw_setup(result_.small);
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
      const auto kind = static_cast<FaultKind>(i);
      if (!setup.is_on(kind)) continue;
      Case candidate = result_.small;
      candidate.off.insert(kind);
      still_fails(candidate);
    }
  }

  void drop_from(std::set<std::uint32_t> Case::* list, std::size_t count) {
    for (std::size_t chunk = std::max<std::size_t>(count / 2, 1); count > 0; chunk /= 2) {
      for (std::size_t first = 0; first < count; first += chunk) {
        Case candidate = result_.small;
        for (std::size_t i = first; i < std::min(first + chunk, count); ++i) {
          (candidate.*list).insert(static_cast<std::uint32_t>(i));
        }
        if (candidate != result_.small) still_fails(candidate);
      }
      if (chunk == 1) return;
    }
  }

  Shrunk result_;
};

}  // namespace

Shrunk shrink(const Case& failing, const Failure& failure) {
  return Shrinker(failing, failure).run();
}

}  // namespace vortex::sim
