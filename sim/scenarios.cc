#include <algorithm>
#include <initializer_list>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

void only(Setup& setup, std::initializer_list<FaultKind> kinds) {
  setup.on.assign(kFaultKinds, false);
  for (const FaultKind kind : kinds) setup.on[static_cast<std::size_t>(kind)] = true;
}

Instant draw_time(const Setup& setup, Rng& rng) {
  return Instant{} + share(rng, setup.faults_end - Instant{}, 100, 900);
}

void add(Setup& setup, const Fault& fault) { setup.faults.push_back(fault); }

std::uint32_t worker_count(const Setup& setup) {
  return static_cast<std::uint32_t>(setup.workers.size());
}

// Each worker stands still for just under, about or just over its lease.
void pause_at_lease_end(Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  for (std::uint32_t w = 0; w < worker_count(setup); ++w) {
    const Duration lasts = share(rng, lease, 850, 1400);
    add(setup, {FaultKind::kWorkerPause, draw_time(setup, rng), lasts, w, 0});
  }
}

// Hosts go down one after the other and come back in another order.
void stop_one_by_one(Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  const std::uint32_t nodes = setup.controllers + setup.machines;
  const Duration step = (setup.faults_end - Instant{}) / (nodes + 2);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const Instant at = Instant{} + step * (n + 1);
    const Duration lasts = share(rng, lease, 500, 3000);
    const bool is_controller = n < setup.controllers;
    const auto kind = is_controller ? FaultKind::kControllerCrash : FaultKind::kHostCrash;
    add(setup, {kind, at, lasts, is_controller ? n : n - setup.controllers, 0});
  }
}

void pause_leaders(Setup& setup, Rng& rng) {
  const Duration longer = std::max(setup.timings.leader_lease, setup.timings.policy.worker_lease);
  for (std::uint32_t c = 0; c < setup.controllers; ++c) {
    const Duration lasts = share(rng, longer, 900, 1600);
    add(setup, {FaultKind::kControllerPause, draw_time(setup, rng), lasts, c, 0});
  }
  add_fault(setup, rng, FaultKind::kWorkerCrash);
}

void store_outages(Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  const FaultKind kinds[] = {FaultKind::kStoreOutage, FaultKind::kStoreStall,
                             FaultKind::kStoreFull};
  const Instant at = draw_time(setup, rng);
  const auto mode = static_cast<std::uint32_t>(rng.below(2));
  add(setup, {kinds[rng.below(3)], at, share(rng, lease, 1000, 2000), mode, 0});
  // A machine falls silent just before the store is back: its lease must not end too early.
  if (rng.chance(700)) {
    const auto machine = static_cast<std::uint32_t>(rng.below(setup.machines));
    add(setup, {FaultKind::kIsolateHost, at + share(rng, lease, 0, 1000),
                share(rng, lease, 800, 2000), setup.controllers + machine, 0});
  }
}

void worker_deaths(Setup& setup, Rng& rng) {
  for (std::uint32_t w = 0; w < worker_count(setup); ++w) {
    add_fault(setup, rng, FaultKind::kWorkerCrash);
    if (rng.chance(300)) add_fault(setup, rng, FaultKind::kSupervisorCrash);
    if (rng.chance(200)) add_fault(setup, rng, FaultKind::kHostCrash);
  }
}

void partitions(Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  for (std::uint32_t m = 0; m < setup.machines; ++m) {
    const Duration lasts = share(rng, lease, 500, 2500);
    if (rng.chance(500)) {
      add(setup, {FaultKind::kIsolateHost, draw_time(setup, rng), lasts, setup.controllers + m, 0});
      continue;
    }
    // One way only: it still hears, but is not heard, or the reverse.
    const auto controller = static_cast<std::uint32_t>(rng.below(setup.controllers));
    const bool hears = rng.chance(500);
    const std::uint32_t machine = setup.controllers + m;
    add(setup, {FaultKind::kCutOneWay, draw_time(setup, rng), lasts, hears ? machine : controller,
                hears ? controller : machine});
  }
}

}  // namespace

void direct_switches(Setup& setup, Rng& rng) {
  using enum FaultKind;
  switch (setup.scenario) {
    case Scenario::kCrashAtCommitPoints:
      only(setup, {kTaskFailures, kStoreLostAnswers, kWorkerCrash});
      setup.boundary_crash_at = static_cast<std::uint32_t>(rng.below(300));
      break;
    case Scenario::kWorkerDeaths:
      only(setup, {kTaskFailures, kTaskPoison, kOperator, kWorkerCrash});
      break;
    case Scenario::kDrains:
      only(setup, {kWorkerDrain, kOperator, kWorkerCrash});
      break;
    case Scenario::kClocks:
      only(setup, {kClockRates, kWallJump, kCutBothWays});
      break;
    case Scenario::kCalm:
      only(setup, {kTaskFailures, kTaskHangs});
      break;
    case Scenario::kPartitions:
      only(setup, {kSlowLinks, kLossyLinks, kRepeatedRequests, kTaskFailures});
      break;
    default:
      only(setup, {kTaskFailures, kSlowLinks});
      break;
  }
}

void direct_faults(Setup& setup, Rng rng) {
  switch (setup.scenario) {
    case Scenario::kPauseAtLeaseEnd:
      return pause_at_lease_end(setup, rng);
    case Scenario::kStopOneByOne:
      return stop_one_by_one(setup, rng);
    case Scenario::kMassLoss:
      return add_fault(setup, rng, FaultKind::kMassLoss);
    case Scenario::kLeaderPausedPastLease:
      return pause_leaders(setup, rng);
    case Scenario::kStoreOutagePastLease:
      return store_outages(setup, rng);
    case Scenario::kWorkerDeaths:
      return worker_deaths(setup, rng);
    case Scenario::kPartitions:
      return partitions(setup, rng);
    default:
      return draw_faults(setup, rng);
  }
}

}  // namespace vortex::sim
