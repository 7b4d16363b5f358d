#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/dag.h"
#include "sim/draw.h"

namespace vortex::sim {

namespace {

void draw_policy(core::Policy& p, Rng& rng) {
  const Duration lease = p.worker_lease;
  if (rng.chance(150)) p.crash_limit = 1;
  if (rng.chance(300)) p.retain_workers = share(rng, lease, 500, 4000);
  if (rng.chance(300)) p.retain_leases = share(rng, p.partition_lease, 200, 3000);
  if (rng.chance(100)) p.stale_for_all = true;
  if (rng.chance(300)) p.cordon_after = static_cast<std::uint16_t>(rng.between(1, 4));
  if (rng.chance(300)) p.brake_fleet_min = static_cast<std::uint32_t>(rng.between(2, 6));
  if (rng.chance(300)) p.flapping_losses = static_cast<std::uint16_t>(rng.between(0, 2));
  if (rng.chance(300)) p.flapping_window = share(rng, lease, 1000, 10'000);
  if (rng.chance(200)) p.release_limit = static_cast<std::uint16_t>(rng.between(8, 30));
  // Small, so that what is too large costs nothing.
  p.checkpoint_bytes_max = 16;
  p.outputs_bytes_max = 40;
  p.upload_bytes_max = 1000;
}

// The same number of items as before: the budget of the workload stays what it was.
void draw_items(MapSpec& map, Rng& rng) {
  const auto items = static_cast<std::int64_t>(count_items(map));
  const std::uint64_t kind = rng.below(10);
  if (kind < 4) {
    std::vector<std::string> list;
    for (std::int64_t i = 0; i < items; ++i) list.push_back(fmt::format("part {}", i));
    map.over = std::move(list);
  } else if (kind < 6) {
    map.over = MapRange{items * 3, 3, -3};
  }
  if (rng.chance(300)) map.as = "part";
}

void draw_node(const Setup& setup, NodeSpec& node, NodeTraits& traits, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  if (node.map) draw_items(*node.map, rng);
  if (rng.chance(150)) {
    node.stale_counts = {.progress = rng.chance(500), .output = true};
    if (rng.chance(700)) traits.writes_every = share(rng, lease, 50, 1500);
  }
  if (rng.chance(200)) {
    node.command.argv = {"work", "--fast"};
    node.command.env = {{"LEVEL", "3"}};
    node.command.workdir = "/tmp";
  } else if (rng.chance(200)) {
    node.command.argv = {"echo $LEVEL"};
    node.command.shell = {"sh", "-c"};
  }
  traits.outputs = rng.chance(300);
  if (traits.outputs && rng.chance(500)) node.outputs = {"v"};
  traits.out_of_memory = rng.chance(200);
  traits.uploads = rng.chance(400);
  const bool too_large = rng.chance(80);
  if (too_large && setup.is_on(FaultKind::kTaskFailures)) traits.too_large_permille = 500;
}

void draw_drafts(Setup& setup, Rng& rng) {
  for (std::uint32_t d = 0; d < setup.drafts.size(); ++d) {
    RunDraft& draft = setup.drafts[d];
    for (std::size_t n = 0; n < draft.dag.nodes.size(); ++n) {
      draw_node(setup, draft.dag.nodes[n], draft.traits[n], rng);
    }
    if (rng.chance(200)) draft.dag.params = {{"n", ParamType::kNumber, "1", "how many"}};
    if (rng.chance(200)) draft.labels = {{"team", "blue"}};
    if (!rng.chance(120)) continue;
    draft.key.clear();
    // Without a key the same request again is another run.
    for (Act& act : setup.acts) {
      if (act.kind != ActKind::kSubmit && act.draft == d && act.pick == 0) act.dropped = true;
    }
  }
}

// Every other life has other slots, labels or amounts, or has moved to another machine.
void draw_other(WorkerSetup& worker, Rng& rng) {
  WorkerInfo other = worker.info;
  if (rng.chance(700)) other.slots = static_cast<std::uint32_t>(rng.between(1, 5));
  if (rng.chance(500)) other.labels = {{"disk", "fast"}};
  if (rng.chance(300)) other.resources.cpu_milli = rng.between(1, 8) * 1000;
  if (rng.chance(300)) other.machine = MachineId(other.machine.text + "-new");
  if (rng.chance(200)) other.queues = {"default", "late"};
  worker.other = other;
}

void draw_acts(Setup& setup, Rng& rng) {
  constexpr std::array kForAll{ActKind::kCheckAttempt, ActKind::kCheckAttempt,
                               ActKind::kCheckAttempt, ActKind::kSubmitWrong, ActKind::kMalformed};
  constexpr std::array kForPeople{ActKind::kDrainWithin, ActKind::kDelete, ActKind::kDelete};
  const std::int64_t acts = rng.between(2, 10);
  for (std::int64_t i = 0; i < acts; ++i) {
    Act act;
    act.at = Instant{} + share(rng, setup.faults_end - Instant{}, 50, 1000);
    const bool by_people = rng.chance(250);
    const std::uint64_t kind = rng.next();
    act.kind = by_people ? kForPeople[kind % kForPeople.size()] : kForAll[kind % kForAll.size()];
    act.draft = static_cast<std::uint32_t>(rng.below(setup.drafts.size()));
    act.pick = rng.next();
    if (!by_people || setup.is_on(FaultKind::kOperator)) setup.acts.push_back(act);
  }
}

}  // namespace

void draw_more_timings(Setup& setup, Rng rng) {
  Timings& t = setup.timings;
  draw_policy(t.policy, rng);
  // At the edge of the rule: F + tick + K = 0.95 L, all of it taken by the fence or by the tick.
  const Duration rest = permille_of(t.policy.worker_lease, 950) - t.policy.kill_time;
  const std::uint64_t edge = rng.below(10);
  if (edge == 0) t.agent_tick = rest - t.self_fence;
  if (edge == 1) t.self_fence = rest - t.agent_tick;
  t.policy.self_fence = t.self_fence;
}

void draw_more(Setup& setup, Rng rng) {
  Rng drafts = rng.fork(1);
  Rng workers = rng.fork(2);
  Rng acts = rng.fork(3);
  Rng rest = rng.fork(4);
  draw_drafts(setup, drafts);
  for (WorkerSetup& worker : setup.workers) {
    if (workers.chance(200)) draw_other(worker, workers);
  }
  draw_acts(setup, acts);
  setup.journals = rest.chance(500);
  if (rest.chance(200)) setup.unsent_permille = static_cast<std::uint32_t>(rest.between(5, 60));
  if (rest.chance(250)) setup.worker_agents = static_cast<std::uint32_t>(rest.between(1, 2));
  // A large image arrives late, perhaps when its term is over.
  if (setup.is_on(FaultKind::kSlowStore) && rest.chance(500)) {
    setup.store.transfer_max = share(rest, setup.timings.leader_lease, 100, 3000);
  }
}

}  // namespace vortex::sim
