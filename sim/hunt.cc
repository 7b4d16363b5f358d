#include "sim/hunt.h"

#include <fmt/format.h>

#include "sim/runner.h"

namespace vortex::sim {

Case hunted_case(std::uint64_t from, std::uint64_t n) {
  Case c;
  constexpr auto kFirst = static_cast<std::uint64_t>(Scenario::kSwarm);
  constexpr std::uint64_t kKinds = kScenarios - kFirst;
  c.seed = from + n / kKinds;
  c.scenario = static_cast<Scenario>(kFirst + n % kKinds);
  // The clusters of the second drawing are smaller, so more of them fit into the same time; what
  // was drawn later is only in the present one.
  c.drawing = (n / kKinds) % 2 == 0 ? 2 : kPresentDrawing;
  return c;
}

int run_hunt(const HuntOrder& order) {
  const std::uint64_t count = order.only.empty() ? order.budget : order.only.size();
  Case c;
  for (std::uint64_t i = 0; i < count; ++i) {
    c = hunted_case(order.from, order.only.empty() ? i : order.only[i]);
    const Outcome outcome = run_checked(c, Twice::kNo);
    if (!outcome.failure) continue;
    fmt::print("tried={} found={} seed={} scenario={}\n", i + 1, outcome.failure->invariant, c.seed,
               to_text(c.scenario));
    return 1;
  }
  fmt::print("tried={} found=nothing seed={} scenario={}\n", count, c.seed, to_text(c.scenario));
  return 0;
}

}  // namespace vortex::sim
