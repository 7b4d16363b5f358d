#include <algorithm>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// How long faults last: mostly near the limits that the rules are about.
Duration draw_span(const Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  switch (rng.below(5)) {
    case 0:
      return share(rng, setup.timings.policy.heartbeat_interval, 10, 1500);
    case 1:
      return share(rng, setup.timings.self_fence, 800, 1200);
    case 2:
      return share(rng, lease, 900, 1100);
    case 3:
      return share(rng, lease, 1000, 2500);
    default:
      return share(rng, lease, 50, 800);
  }
}

std::uint32_t pick(Rng& rng, std::uint32_t count) {
  return static_cast<std::uint32_t>(rng.below(count));
}

void aim(Fault& fault, const Setup& setup, Rng& rng) {
  const auto workers = static_cast<std::uint32_t>(setup.workers.size());
  switch (fault.kind) {
    case FaultKind::kCutOneWay:
    case FaultKind::kCutBothWays:
    case FaultKind::kClog:
      fault.a = pick(rng, setup.hosts());
      fault.b = (fault.a + 1 + pick(rng, setup.hosts() - 1)) % setup.hosts();
      break;
    case FaultKind::kIsolateHost:
      fault.a = pick(rng, setup.controllers + setup.machines);
      break;
    case FaultKind::kControllerCrash:
    case FaultKind::kControllerPause:
    case FaultKind::kControllerStop:
      fault.a = pick(rng, setup.controllers);
      break;
    case FaultKind::kHostCrash:
      fault.a = pick(rng, setup.machines);
      break;
    case FaultKind::kStoreOutage:
    case FaultKind::kStoreStall:
    case FaultKind::kStoreFailover:
    case FaultKind::kStoreFull:
      fault.a = pick(rng, 2);  // refuses at once, or does not answer
      break;
    case FaultKind::kWallJump:
      fault.a = pick(rng, setup.controllers + setup.machines);
      fault.b = pick(rng, 7200);  // seconds, an hour back to an hour ahead
      break;
    case FaultKind::kStoreClockJump:
      fault.b = pick(rng, 2000);  // permille of what it jumps by, from back to ahead
      break;
    case FaultKind::kMassLoss:
      fault.b = pick(rng, 1000);  // how they vanish
      break;
    default:
      fault.a = pick(rng, workers);
      fault.b = pick(rng, 1000);
      break;
  }
}

}  // namespace

void add_fault(Setup& setup, Rng& rng, FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  const Duration lease = setup.timings.policy.worker_lease;
  fault.at = Instant{} + share(rng, setup.faults_end - (Instant{} + lease / 4), 20, 1000);
  fault.lasts = draw_span(setup, rng);
  if (kind == FaultKind::kStoreFailover) fault.lasts = share(rng, lease, 20, 200);
  aim(fault, setup, rng);
  setup.faults.push_back(fault);
}

void draw_faults(Setup& setup, Rng rng) {
  for (auto i = static_cast<std::size_t>(kFirstTimedFault); i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    Rng own = rng.fork(i);
    if (!setup.is_on(kind)) continue;
    const bool once = kind == FaultKind::kMassLoss || kind == FaultKind::kTwin;
    const std::int64_t count = once ? 1 : own.between(1, 4);
    for (std::int64_t n = 0; n < count; ++n) add_fault(setup, own, kind);
  }
}

}  // namespace vortex::sim
