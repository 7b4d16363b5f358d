#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

NodeTraits draw_traits(const Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  NodeTraits traits;
  traits.runs_min = share(rng, lease, 5, 200);
  traits.runs_max = traits.runs_min + share(rng, lease, 50, 900);
  if (setup.is_on(FaultKind::kTaskFailures) && rng.chance(300)) traits.fail_permille = 300;
  return traits;
}

NodeSpec& add_node(RunDraft& draft, const Setup& setup, Rng& rng) {
  NodeSpec& node = draft.dag.nodes.emplace_back();
  node.name = fmt::format("n{}", draft.dag.nodes.size() - 1);
  node.command.argv = {"work"};
  node.retry.emplace().max_retries = static_cast<std::uint16_t>(rng.below(2));
  node.retry->backoff.delay = share(rng, setup.timings.policy.worker_lease, 1, 50);
  draft.traits.push_back(draw_traits(setup, rng));
  return node;
}

ConcurrencySpec draw_concurrency(Rng& rng) {
  ConcurrencySpec spec;
  if (rng.chance(600)) spec.key = rng.chance(500) ? "${{ params.n }}" : "c-${{ params.n ?? 7 }}";
  spec.limit = rng.chance(700) ? 1 : 2;
  spec.on_full = rng.chance(500) ? OnFull::kQueue : static_cast<OnFull>(rng.below(4));
  return spec;
}

RunDraft draw_limited(const Setup& setup, std::uint32_t number, Rng& rng) {
  RunDraft draft;
  draft.dag.name = fmt::format("s{}", number);
  draft.key = fmt::format("key-{}", number);
  draft.dag.concurrency = draw_concurrency(rng);
  const std::int64_t nodes = rng.between(1, 2);
  for (std::int64_t n = 0; n < nodes; ++n) {
    NodeSpec& node = add_node(draft, setup, rng);
    if (n > 0) node.needs = {"n0"};
    if (n > 0 && rng.chance(200)) {
      node.retry.reset();
      node.command = {};
      node.wait.emplace().length = share(rng, setup.timings.policy.worker_lease, 5, 500);
    }
  }
  if (rng.chance(300)) {
    NodeSpec& last = add_node(draft, setup, rng);
    last.finally = true;
  }
  if (rng.chance(200)) {
    draft.dag.run_timeout = share(rng, setup.timings.policy.worker_lease, 1000, 4000);
  }
  return draft;
}

void add_acts(Setup& setup, RunDraft& draft, std::uint32_t number, Rng& rng) {
  const Duration whole = setup.faults_end - Instant{};
  const std::int64_t runs = rng.between(3, 9);
  draft.runs = static_cast<std::uint32_t>(runs);
  for (std::int64_t i = 0; i < runs; ++i) {
    Act act;
    act.at = Instant{} + share(rng, whole, 0, 800);
    act.kind = ActKind::kSubmitMore;
    act.draft = number;
    act.pick = rng.next() % 1'000'000;
    setup.acts.push_back(act);
  }
  for (int i = 0; i < 3 && setup.is_on(FaultKind::kOperator); ++i) {
    if (!rng.chance(500)) continue;
    Act act;
    act.at = Instant{} + share(rng, whole, 50, 1000);
    act.kind = rng.chance(700) ? ActKind::kCancelRun : ActKind::kPauseRun;
    act.pick = rng.next();
    act.on = rng.chance(500);
    setup.acts.push_back(act);
  }
}

void draw_limits(Setup& setup, Rng& rng) {
  setup.limits = static_cast<std::uint32_t>(rng.between(1, 2));
  for (RunDraft& draft : setup.drafts) {
    for (NodeSpec& node : draft.dag.nodes) {
      if (node.wait) continue;
      for (std::uint32_t i = 0; i < setup.limits; ++i) {
        if (rng.chance(300)) node.limits.push_back(fmt::format("l{}", i));
      }
    }
  }
  const Duration whole = setup.faults_end - Instant{};
  const auto add = [&](ActKind kind, std::uint32_t limit, std::int64_t first, std::int64_t last) {
    Act act;
    act.at = Instant{} + share(rng, whole, first, last);
    act.kind = kind;
    act.draft = limit;
    act.pick = rng.next() % 1'000;
    act.on = rng.chance(500);
    setup.acts.push_back(act);
  };
  for (std::uint32_t i = 0; i < setup.limits; ++i) {
    add(ActKind::kSetLimit, i, 0, 100);
    for (int n = 0; n < 3; ++n) {
      if (rng.chance(400)) add(ActKind::kSetLimit, i, 100, 1000);
    }
    if (rng.chance(200)) add(ActKind::kDeleteLimit, i, 300, 900);
  }
}

}  // namespace

// Small DAGs of which several runs are submitted that share groups, and scheduled runs that do.
void draw_eleventh(Setup& setup, Rng rng) {
  for (RunDraft& draft : setup.drafts) {
    if (!draft.dag.schedule || draft.dag.schedule->overlap != Overlap::kAllow) continue;
    if (rng.chance(500)) draft.dag.concurrency.emplace().limit = 1;
  }
  Rng limits = rng.fork(1000);
  const bool limited = limits.chance(500);
  if (!rng.chance(500)) {
    if (limited) draw_limits(setup, limits);
    return;
  }
  const std::int64_t dags = rng.between(1, 2);
  for (std::int64_t i = 0; i < dags; ++i) {
    Rng own = rng.fork(static_cast<std::uint64_t>(i));
    const auto number = static_cast<std::uint32_t>(setup.drafts.size());
    RunDraft draft = draw_limited(setup, number, own);
    add_acts(setup, draft, number, own);
    setup.drafts.push_back(std::move(draft));
  }
  if (limited) draw_limits(setup, limits);
}

}  // namespace vortex::sim
