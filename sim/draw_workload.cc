#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

struct Shape {
  std::uint32_t draft = 0;
  std::uint32_t tasks_left = 0;  // how many tasks this run may still have
};

// Asks for what one of the workers offers, so somebody can run it.
Requirements draw_requirements(const Setup& setup, Rng& rng) {
  Requirements need;
  const WorkerInfo& model = setup.workers[rng.below(setup.workers.size())].info;
  if (rng.chance(300)) need.queue = model.queues[rng.below(model.queues.size())];
  if (rng.chance(200)) need.labels = model.labels;
  if (rng.chance(200)) need.runtime = model.runtimes[rng.below(model.runtimes.size())];
  if (rng.chance(80)) need.worker = model.id;
  if (rng.chance(200)) need.resources.cpu_milli = model.resources.cpu_milli / 2;
  if (rng.chance(100)) need.resources.memory_bytes = model.resources.memory_bytes;
  if (rng.chance(300)) need.resources.named = model.resources.named;
  return need;
}

RetryPolicy draw_retry(const Setup& setup, Rng& rng) {
  RetryPolicy retry;
  const Duration lease = setup.timings.policy.worker_lease;
  retry.max_retries = static_cast<std::uint16_t>(rng.between(0, 3));
  retry.backoff.kind = static_cast<BackoffKind>(rng.below(3));
  retry.backoff.delay = share(rng, lease, 1, 100);
  retry.backoff.max_delay = share(rng, lease, 100, 500);
  retry.backoff.jitter_permille = static_cast<std::uint16_t>(rng.between(0, 500));
  if (rng.chance(200)) retry.unless_exit = {42};
  return retry;
}

void draw_limits(NodeSpec& node, const Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  if (rng.chance(500)) node.retry = draw_retry(setup, rng);
  if (rng.chance(150)) node.execution_timeout = share(rng, lease, 500, 3000);
  if (rng.chance(150)) node.scheduled_timeout = share(rng, lease, 1000, 2000);
  if (rng.chance(150)) node.stale_after = share(rng, lease, 500, 2000);
}

void draw_map(NodeSpec& node, Shape& shape, Rng& rng) {
  if (shape.tasks_left < 2) return;
  const std::int64_t wanted = rng.chance(100) ? 60 : rng.between(2, 12);
  const std::int64_t items = std::min<std::int64_t>(wanted, shape.tasks_left);
  shape.tasks_left -= static_cast<std::uint32_t>(items);
  MapSpec map;
  map.over = MapRange{1, items, 1};
  if (rng.chance(400)) map.max_parallel = static_cast<std::uint32_t>(rng.between(1, 4));
  if (rng.chance(400)) map.max_failures = static_cast<std::uint32_t>(rng.between(0, 2));
  node.map = map;
}

NodeSpec draw_node(const Setup& setup, const DagSpec& dag, Shape& shape, Rng& rng) {
  NodeSpec node;
  node.name = fmt::format("n{}", dag.nodes.size());
  const std::uint64_t needs = rng.chance(250) ? 0 : rng.below(4);
  for (std::uint64_t i = 0; i < needs && !dag.nodes.empty(); ++i) {
    const std::string& need = dag.nodes[rng.below(dag.nodes.size())].name;
    if (std::ranges::find(node.needs, need) == node.needs.end()) node.needs.push_back(need);
  }
  if (rng.chance(300)) node.trigger = static_cast<TriggerRule>(rng.below(7));
  node.requirements = draw_requirements(setup, rng);
  if (rng.chance(300)) node.priority = static_cast<std::int8_t>(rng.between(-100, 100));
  node.exclusive = rng.chance(150);
  draw_limits(node, setup, rng);
  if (rng.chance(150)) draw_map(node, shape, rng);
  return node;
}

NodeTraits draw_traits(const Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  NodeTraits traits;
  const std::uint64_t speed = rng.below(100);
  if (speed < 28) {  // outlives the lease
    traits.runs_min = permille_of(lease, 1050);
    traits.runs_max = permille_of(lease, 2000);
  } else if (speed < 50) {
    traits.runs_min = permille_of(lease, 20);
    traits.runs_max = permille_of(lease, 600);
  }
  const bool fails = rng.chance(350);
  const bool hangs = rng.chance(60);
  const bool poison = rng.chance(60);
  const auto fail = static_cast<std::uint32_t>(rng.chance(200) ? 1000 : rng.between(100, 700));
  traits.exit_code = rng.chance(200) ? 42 : 1;
  traits.fails_by_signal = rng.chance(200);
  if (fails && setup.is_on(FaultKind::kTaskFailures)) traits.fail_permille = fail;
  if (hangs && setup.is_on(FaultKind::kTaskHangs)) traits.hang_permille = 500;
  traits.poison = poison && setup.is_on(FaultKind::kTaskPoison);
  traits.ignores_term = rng.chance(150);
  if (rng.chance(30)) traits.no_start_permille = 500;
  const bool slow_start = rng.chance(25);
  if (slow_start && setup.is_on(FaultKind::kTaskHangs)) {
    traits.slow_start_permille = rng.chance(500) ? 1000 : 500;
  }
  if (rng.chance(400)) traits.progress_every = share(rng, lease, 50, 1500);
  traits.checkpoints = rng.chance(300);
  return traits;
}

RunDraft draw_run(const Setup& setup, Shape shape, Rng& rng) {
  RunDraft draft;
  draft.dag.name = fmt::format("s{}", shape.draft);
  draft.key = fmt::format("key-{}", shape.draft);
  const std::int64_t drawn = rng.chance(100) ? rng.between(13, 24) : rng.between(1, 12);
  const auto wanted = static_cast<std::uint64_t>(drawn);
  while (draft.dag.nodes.size() < wanted && shape.tasks_left > 0) {
    --shape.tasks_left;
    draft.dag.nodes.push_back(draw_node(setup, draft.dag, shape, rng));
    draft.traits.push_back(draw_traits(setup, rng));
  }
  draft.dag.barrier_levels = rng.chance(150);
  if (rng.chance(150)) {
    draft.dag.run_timeout = share(rng, setup.timings.policy.worker_lease, 1000, 8000);
  }
  return draft;
}

Act draw_act(const Setup& setup, Rng& rng) {
  // Most often what people do most; submits come from elsewhere.
  constexpr std::array kActs{ActKind::kCancelRun, ActKind::kCancelRun,  ActKind::kPauseRun,
                             ActKind::kPauseRun,  ActKind::kCancelTask, ActKind::kRetryTask,
                             ActKind::kRetryTask, ActKind::kRedrive,    ActKind::kRedrive,
                             ActKind::kDiscard,   ActKind::kCordon,     ActKind::kReset,
                             ActKind::kDrain,     ActKind::kPauseQueue};
  Act act;
  act.at = Instant{} + share(rng, setup.faults_end - Instant{}, 50, 1000);
  act.kind = kActs[rng.below(kActs.size())];
  act.pick = rng.next();
  act.on = rng.chance(600);
  return act;
}

}  // namespace

void draw_workload(Setup& setup, Rng rng) {
  std::uint32_t slots = 0;
  for (const WorkerSetup& worker : setup.workers) slots += worker.info.slots;
  auto budget = static_cast<std::uint32_t>(rng.between(4, 20 + 6 * std::int64_t{slots}));
  const auto runs = static_cast<std::uint32_t>(rng.between(2, 8));
  for (std::uint32_t draft = 0; draft < runs && budget > 0; ++draft) {
    Rng own = rng.fork(draft);
    const std::uint32_t share_of_run = std::min<std::uint32_t>(budget, 60);
    setup.drafts.push_back(draw_run(setup, {draft, share_of_run}, own));
    const auto used = static_cast<std::uint32_t>(setup.drafts.back().dag.nodes.size());
    budget -= std::min(budget, used);
    // Half of them early, so that the faults find something to hit.
    const std::int64_t latest = own.chance(500) ? 200 : 900;
    Act act;
    act.at = Instant{} + share(own, setup.faults_end - Instant{}, 0, latest);
    act.draft = draft;
    setup.acts.push_back(act);
    if (own.chance(250)) {
      act.at = act.at + share(own, setup.timings.policy.worker_lease, 0, 2000);
      act.kind = own.chance(700) ? ActKind::kSubmitSameKey : ActKind::kSubmitOtherKey;
      setup.acts.push_back(act);
    }
  }
  Rng people = rng.fork(1000);
  const std::int64_t acts = people.between(2, 14);
  for (std::int64_t i = 0; i < acts && setup.is_on(FaultKind::kOperator); ++i) {
    setup.acts.push_back(draw_act(setup, people));
  }
}

}  // namespace vortex::sim
