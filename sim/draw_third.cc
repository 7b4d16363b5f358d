#include <iterator>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// Finished runs are forgotten after a while or beyond a number, some soon enough that their keys
// are used again while the history lasts.
void draw_retention(Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  const bool by_age = rng.chance(700);
  RunRetention keep;
  if (by_age) keep.runs_for = share(rng, lease, 50, 2000);
  if (!by_age || rng.chance(300)) keep.runs_max = static_cast<std::uint64_t>(rng.between(1, 4));
  keep.interval = share(rng, lease, 50, 500);
  keep.at_once = static_cast<std::uint32_t>(rng.between(1, 8));
  keep.sweep_rows = static_cast<std::uint32_t>(rng.between(1, 60));
  if (!rng.chance(300)) return;
  setup.retention = keep;
  // The same and other requests under the same keys, long after the first.
  for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
    Act act;
    act.kind = rng.chance(800) ? ActKind::kSubmitSameKey : ActKind::kSubmitOtherKey;
    act.at = Instant{} + share(rng, setup.faults_end - Instant{}, 400, 1000);
    act.draft = static_cast<std::uint32_t>(rng.below(setup.drafts.size()));
    if (!setup.drafts[act.draft].key.empty()) setup.acts.push_back(act);
  }
}

// A map with many times more items than one step makes, some of which fail: it stops while it is
// still being made, and somebody runs it again, pauses it and lets it go on in the midst of that.
void draw_large_map(Setup& setup, Rng& rng) {
  RunDraft draft;
  const auto number = static_cast<std::uint32_t>(setup.drafts.size());
  draft.dag.name = fmt::format("s{}", number);
  draft.key = fmt::format("key-{}", number);
  NodeSpec map;
  map.name = "m";
  map.map.emplace();
  map.map->over = MapRange{1, rng.between(60, 140), 1};
  map.map->max_failures = static_cast<std::uint32_t>(rng.between(0, 2));
  if (rng.chance(300)) map.map->max_parallel = static_cast<std::uint32_t>(rng.between(2, 12));
  map.retry = RetryPolicy{};
  map.retry->max_retries = 0;
  NodeSpec after;
  after.name = "after";
  after.needs = {"m"};
  draft.dag.nodes = {map, after};
  NodeTraits traits;
  traits.runs_min = micros(100);
  traits.runs_max = millis(5);
  traits.fail_permille = static_cast<std::uint32_t>(rng.between(20, 150));
  draft.traits = {traits, NodeTraits{}};
  if (rng.chance(500)) {  // keeps the run alive while its map stands still
    NodeSpec slow;
    slow.name = "slow";
    draft.dag.nodes.push_back(slow);
    NodeTraits long_lived;
    long_lived.runs_min = long_lived.runs_max = setup.timings.policy.worker_lease;
    draft.traits.push_back(long_lived);
  }
  setup.drafts.push_back(draft);
  setup.timings.policy.bulk_tasks_per_step = static_cast<std::uint32_t>(rng.between(1, 3));

  setup.tended = number;
  // Slow slices: the first items fail long before the last ones are made.
  if (rng.chance(800)) setup.turn_max = rng.between(millis(5), millis(20));

  Act act;
  act.at = Instant{} + share(rng, setup.faults_end - Instant{}, 100, 700);
  act.draft = number;
  setup.acts.push_back(act);
}

// Tasks that die by a signal, workers that are blamed for it, and how that ends.
void draw_blame(Setup& setup, Rng& rng) {
  core::Policy& p = setup.timings.policy;
  p.probation_after = share(rng, p.worker_lease, 20, 1000);
  constexpr std::uint32_t kShares[] = {0, 10, 25, 50, 100};
  p.cordon_share_percent = kShares[rng.below(std::size(kShares))];
  setup.lifts_blame = rng.chance(400);
  if (!setup.is_on(FaultKind::kTaskFailures) || !rng.chance(500)) return;
  p.cordon_after = static_cast<std::uint16_t>(rng.between(1, 2));
  for (RunDraft& draft : setup.drafts) {
    for (NodeTraits& traits : draft.traits) {
      if (!rng.chance(400)) continue;
      traits.fails_by_signal = true;
      traits.fail_permille = static_cast<std::uint32_t>(rng.between(200, 900));
    }
  }
}

void draw_quota(Setup& setup, Rng& rng) {
  setup.tokens = static_cast<std::uint32_t>(rng.between(1, 3));
  core::Policy& p = setup.timings.policy;
  if (rng.chance(200)) p.quota.runs = static_cast<std::uint64_t>(rng.between(2, 6));
  if (rng.chance(100)) p.quota.tasks = static_cast<std::uint64_t>(rng.between(10, 200));
  if (rng.chance(200)) p.quota_per_token.runs = static_cast<std::uint64_t>(rng.between(1, 4));
  if (rng.chance(100)) p.quota_per_token.tasks = static_cast<std::uint64_t>(rng.between(5, 100));
  if (rng.chance(50)) p.quota_per_token.bytes = static_cast<std::uint64_t>(rng.between(500, 9000));
}

}  // namespace

void draw_fourth(Setup& setup, Rng rng) {
  Rng blame = rng.fork(1);
  Rng quota = rng.fork(2);
  Rng rest = rng.fork(3);
  draw_blame(setup, blame);
  draw_quota(setup, quota);
  setup.burns = rest.chance(300);
}

void draw_fifth(Setup& setup, Rng rng) { setup.forges = rng.chance(400); }

// Every DAG counts as a very large one.
void draw_sixth(Setup& setup, Rng rng) {
  if (rng.chance(300)) setup.timings.policy.nodes_at_once = 0;
}

void draw_third(Setup& setup, Rng rng) {
  Rng retention = rng.fork(1);
  Rng map = rng.fork(2);
  Rng turns = rng.fork(3);
  draw_retention(setup, retention);
  // A busy controller: what comes waits for its turn.
  if (turns.chance(150)) setup.turn_max = turns.between(millis(1), millis(20));
  if (map.chance(80)) draw_large_map(setup, map);
}

}  // namespace vortex::sim
