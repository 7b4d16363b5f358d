#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// The four tunings in milliseconds: H, L, F, K.
struct Tuning {
  std::int64_t heartbeat, lease, fence, kill;
};
constexpr std::array<Tuning, 6> kTunings{{
    {500, 5'000, 2'500, 1'000},  // testing, most often
    {500, 5'000, 2'500, 1'000},
    {500, 5'000, 2'500, 1'000},
    {3'000, 30'000, 18'000, 8'000},     // lan
    {10'000, 60'000, 40'000, 15'000},   // standard
    {20'000, 120'000, 80'000, 30'000},  // wan
}};

core::Policy draw_policy(Rng& rng, const Tuning& tuning, std::int64_t scale) {
  core::Policy p;
  const auto scaled = [&](std::int64_t ms) { return permille_of(millis(ms), scale); };
  const Duration lease = scaled(tuning.lease);
  p.worker_lease = lease;
  p.heartbeat_interval = scaled(tuning.heartbeat);
  p.kill_time = scaled(tuning.kill);
  p.scheduled_timeout = share(rng, lease, 1000, 3000);
  p.execution_timeout = share(rng, lease, 3000, 6000);
  p.stale_after = share(rng, lease, 1000, 3000);
  p.reconnect_grace = std::min(seconds(2), share(rng, lease, 100, 400));
  p.worker_queue_ttl = share(rng, lease, 1000, 4000);
  p.keep_away = share(rng, lease, 50, 1000);
  p.partition_lease = share(rng, lease, 800, 2000);
  p.sweep = share(rng, lease, 50, 200);
  p.health_check_interval = share(rng, lease, 250, 1000);
  p.reconcile_interval = share(rng, lease, 500, 2000);
  p.retry.max_retries = static_cast<std::uint16_t>(rng.between(0, 3));
  p.retry.backoff = {BackoffKind::kExponential, millis(20), lease / 4, 200};
  p.crash_limit = static_cast<std::uint16_t>(rng.between(2, 3));
  p.never_started_limit = static_cast<std::uint16_t>(rng.between(2, 4));
  p.brake_permille_per_minute = rng.chance(500) ? 1000 : 150;
  p.bulk_tasks_per_step = rng.chance(500) ? static_cast<std::uint32_t>(rng.between(3, 40)) : 10'000;
  p.spread_from_tasks = rng.chance(300) ? 2 : 200;
  return p;
}

WorkerInfo draw_info(Rng& rng, std::uint32_t worker, std::uint32_t machine) {
  WorkerInfo info;
  info.id = WorkerId(fmt::format("w{}", worker));
  info.machine = MachineId(fmt::format("m{}", machine));
  info.name = info.id.text;
  if (!rng.chance(100)) info.address = fmt::format("m{}:{}", machine, 9000 + worker);
  info.version = "1";
  if (rng.chance(300)) info.queues = {"bulk", "default"};
  if (rng.chance(400)) info.labels = {{"zone", rng.chance(500) ? "a" : "b"}};
  info.runtimes =
      rng.chance(500) ? std::vector<std::string>{"py", "sh"} : std::vector<std::string>{"sh"};
  info.slots = static_cast<std::uint32_t>(rng.between(1, 4));
  info.resources.cpu_milli = rng.between(1, 4) * 1000;
  info.resources.memory_bytes = rng.between(1, 4) << 30;
  if (rng.chance(300)) info.resources.named = {{"gpu", rng.between(1, 2)}};
  return info;
}

HostClock draw_clock(Setup& setup, Rng& rng, std::int64_t ppm_max) {
  const Duration offset = seconds(rng.between(0, 100'000));
  const std::int64_t ppm = rng.between(-ppm_max, ppm_max);
  return {offset, setup.is_on(FaultKind::kClockRates) ? ppm : 0};
}

void draw_switches(Setup& setup, const Case& c, Rng& rng) {
  setup.on.assign(kFaultKinds, false);
  const std::size_t known = c.drawing >= kThirdDrawing   ? kFaultKinds
                            : c.drawing == kFirstDrawing ? kFaultKindsOfFirstDrawing
                                                         : kFaultKindsOfSecondDrawing;
  for (std::size_t i = 0; i < known; ++i) setup.on[i] = rng.chance(500);
  if (setup.scenario != Scenario::kSwarm) direct_switches(setup, rng);
}

Scenario draw_scenario(const Case& c, Rng& rng) {
  const bool directed = rng.chance(300);
  const auto first = static_cast<std::int64_t>(Scenario::kCalm);
  const auto drawn = static_cast<Scenario>(rng.between(first, kScenarios - 1));
  if (c.scenario != Scenario::kBySeed) return c.scenario;
  return directed ? drawn : Scenario::kSwarm;
}

void leave_out(Setup& setup, const Case& c) {
  setup.fault_dropped.assign(setup.faults.size(), false);
  for (std::size_t i = 0; i < setup.faults.size(); ++i) {
    setup.fault_dropped[i] =
        c.no_faults.contains(static_cast<std::uint32_t>(i)) || c.off.contains(setup.faults[i].kind);
  }
  for (const std::uint32_t act : c.no_acts) {
    if (act < setup.acts.size()) setup.acts[act].dropped = true;
  }
  for (const std::uint32_t worker : c.no_workers) {
    if (worker < setup.workers.size()) setup.workers[worker].absent = true;
  }
}

}  // namespace

Timings draw_timings(Rng rng) {
  const Tuning& tuning = kTunings[rng.below(kTunings.size())];
  const std::int64_t scale = rng.between(500, 1500);
  Timings t;
  t.policy = draw_policy(rng, tuning, scale);
  const Duration lease = t.policy.worker_lease;
  t.self_fence = permille_of(millis(tuning.fence), scale);
  // F + tick + K <= 0.95 L leaves this much for the tick.
  t.agent_tick = std::min(permille_of(lease, 950) - t.self_fence - t.policy.kill_time,
                          t.policy.heartbeat_interval);
  t.leader_lease = share(rng, lease, 300, 1000);
  t.store_limit = permille_of(t.self_fence, 450);
  t.store_stalled = permille_of(t.store_limit, 300);
  t.client_limit = share(rng, lease, 100, 500);
  t.keep_alive = share(rng, t.self_fence, 300, 900);
  return t;
}

void draw_cluster(Setup& setup, Rng rng) {
  setup.controllers = static_cast<std::uint32_t>(rng.between(1, 3));
  const auto workers = static_cast<std::uint32_t>(rng.between(1, 8));
  setup.machines = static_cast<std::uint32_t>(rng.between(1, std::min(4U, workers)));
  for (std::uint32_t w = 0; w < workers; ++w) {
    const std::uint32_t machine = w % setup.machines;
    setup.workers.push_back({draw_info(rng, w, machine), machine, false, false, {}});
  }
  // Worker and controller together stay inside the 5% that the timing rules leave.
  constexpr std::int64_t kWithinMarginPpm = 15'000;
  for (std::uint32_t c = 0; c < setup.controllers; ++c) {
    setup.controller_clocks.push_back(draw_clock(setup, rng, kWithinMarginPpm));
  }
  for (std::uint32_t m = 0; m < setup.machines; ++m) {
    setup.machine_clocks.push_back(draw_clock(setup, rng, kWithinMarginPpm));
    const std::int64_t wild = rng.between(60'000, 200'000) * (rng.chance(700) ? -1 : 1);
    const bool beyond = rng.chance(400) && setup.is_on(FaultKind::kClockBeyondMargin);
    if (beyond) setup.machine_clocks.back() = HostClock(seconds(5), wild);
  }
  setup.store_clock = draw_clock(setup, rng, 2'000);
}

void draw_strengths(Setup& setup, Rng rng) {
  const Duration heartbeat = setup.timings.policy.heartbeat_interval;
  LinkStrength& links = setup.links;
  const auto drawn_delay = share(rng, heartbeat, 2, 60);
  const auto slow = static_cast<std::uint32_t>(rng.between(5, 100));
  const auto slow_max = share(rng, heartbeat, 100, 2000);
  const auto drop = static_cast<std::uint32_t>(rng.between(2, 80));
  const auto repeat = static_cast<std::uint32_t>(rng.between(5, 150));
  links.delay_max = std::max(drawn_delay, millis(1));
  if (setup.is_on(FaultKind::kSlowLinks)) links.slow_permille = slow, links.slow_max = slow_max;
  if (setup.is_on(FaultKind::kLossyLinks)) links.drop_permille = drop;
  if (setup.is_on(FaultKind::kRepeatedRequests)) links.repeat_permille = repeat;

  StoreStrength& store = setup.store;
  const auto latency = share(rng, heartbeat, 5, 200);
  const auto abort = static_cast<std::uint32_t>(rng.between(1, 30));
  const auto lost = static_cast<std::uint32_t>(rng.between(1, 30));
  if (setup.is_on(FaultKind::kSlowStore)) store.latency_max = std::max(latency, millis(3));
  if (setup.is_on(FaultKind::kStoreAborts)) store.abort_permille = abort;
  if (setup.is_on(FaultKind::kStoreLostAnswers)) store.lost_answer_permille = lost;

  const auto boundary = static_cast<std::uint32_t>(rng.between(1, 15));
  if (setup.is_on(FaultKind::kCrashAtBoundary)) setup.boundary_crash_permille = boundary;
  setup.batch_max = rng.chance(400) ? 1 : static_cast<std::uint32_t>(rng.between(2, 64));
  setup.lease_agents = rng.chance(400) ? static_cast<std::uint32_t>(rng.between(1, 4)) : 0;
  setup.partitions = static_cast<std::uint32_t>(rng.between(1, 3));
}

// A few clusters have a worker that is well in every way but does not work.
void draw_slack(Setup& setup, Rng rng) {
  if (!rng.chance(80) || setup.scenario == Scenario::kCalm) return;
  setup.workers[rng.below(setup.workers.size())].slack = true;
}

Setup draw_setup(const Case& c) {
  Setup setup;
  setup.seed = c.seed;
  // One stream per subject, in an order that is only ever added to: saved cases depend on it.
  Rng root(c.seed);
  Rng switches = root.fork(1);
  const Rng timings = root.fork(2);
  const Rng cluster = root.fork(3);
  const Rng strengths = root.fork(4);
  const Rng faults = root.fork(5);
  const Rng workload = root.fork(6);
  Rng frame = root.fork(7);
  const Rng slack = root.fork(8);
  Rng more = root.fork(9);
  const Rng third = root.fork(10);
  const Rng fourth = root.fork(11);
  const Rng fifth = root.fork(12);
  const Rng sixth = root.fork(13);
  const Rng seventh = root.fork(14);
  const Rng eighth = root.fork(15);
  const Rng ninth = root.fork(16);
  const Rng tenth = root.fork(17);
  const Rng eleventh = root.fork(18);
  const Rng twelfth = root.fork(19);
  const Rng thirteenth = root.fork(20);
  const bool draws_more = c.drawing > kFirstDrawing;
  setup.scenario = draw_scenario(c, frame);
  const std::int64_t leases = frame.between(5, 12);
  draw_switches(setup, c, switches);
  for (const FaultKind kind : c.off) setup.on[static_cast<std::size_t>(kind)] = false;
  setup.timings = draw_timings(timings);
  const Rng more_timings = more.fork(1);
  if (draws_more) draw_more_timings(setup, more_timings);
  setup.faults_end = Instant{} + setup.timings.policy.worker_lease * leases;
  draw_cluster(setup, cluster);
  draw_slack(setup, slack);
  draw_strengths(setup, strengths);
  if (setup.scenario == Scenario::kSwarm) {
    draw_faults(setup, faults);
  } else {
    direct_faults(setup, faults);
  }
  draw_workload(setup, workload);
  if (draws_more) draw_more(setup, more.fork(2));
  if (c.drawing >= kThirdDrawing) draw_third(setup, third);
  if (c.drawing >= kFourthDrawing) draw_fourth(setup, fourth);
  if (c.drawing >= kFifthDrawing) draw_fifth(setup, fifth);
  if (c.drawing >= kSixthDrawing) draw_sixth(setup, sixth);
  if (c.drawing >= kSeventhDrawing) draw_seventh(setup, seventh);
  if (c.drawing >= kEighthDrawing) draw_eighth(setup, eighth);
  if (c.drawing >= kNinthDrawing) draw_ninth(setup, ninth);
  if (c.drawing >= kTenthDrawing) draw_tenth(setup, tenth);
  if (c.drawing >= kEleventhDrawing) draw_eleventh(setup, eleventh);
  if (c.drawing >= kTwelfthDrawing) draw_twelfth(setup, twelfth);
  if (c.drawing >= kThirteenthDrawing) draw_thirteenth(setup, thirteenth);
  leave_out(setup, c);
  return setup;
}

}  // namespace vortex::sim
