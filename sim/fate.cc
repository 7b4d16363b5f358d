#include "sim/fate.h"

#include <charconv>

#include "base/assert.h"
#include "base/hash.h"
#include "base/rng.h"
#include "sim/draw.h"

namespace vortex::sim {

namespace {

// Runs of draft 7 are of a DAG named "s7".
std::uint32_t draft_of(const DagPlan& plan) {
  const std::string& name = plan.spec.name;
  std::uint32_t draft = 0;
  std::from_chars(name.data() + 1, name.data() + name.size(), draft);
  return draft;
}

Rng own_chance(const Setup& setup, const Attempt& attempt) {
  Hasher hash;
  hash.add(setup.seed);
  hash.add(attempt.task.run.value);
  hash.add(attempt.task.index);
  hash.add(attempt.epoch.value);
  return Rng(hash.value());
}

}  // namespace

const NodeTraits& traits_of(const Setup& setup, const Assignment& assignment) {
  const auto& work = std::get<PlannedWork>(assignment.work);
  const std::uint32_t draft = draft_of(*work.plan);
  VX_ASSERT(draft < setup.drafts.size());
  return setup.drafts[draft].traits[work.plan->nodes[work.node].spec];
}

Fate fate_of(const Setup& setup, const Assignment& assignment) {
  const NodeTraits& traits = traits_of(setup, assignment);
  const Duration kill_time = setup.timings.policy.kill_time;
  Rng rng = own_chance(setup, assignment.attempt);
  Fate fate;
  fate.runs = rng.between(traits.runs_min, traits.runs_max);
  fate.obeys_term_after =
      traits.ignores_term ? kForever : share(rng, kill_time, 0, rng.chance(300) ? 990 : 100);
  fate.progress_every = traits.progress_every;
  fate.checkpoints = traits.checkpoints;
  fate.slow_start = rng.chance(traits.slow_start_permille);
  const bool fails = rng.chance(traits.fail_permille);
  // Whoever hangs does so once or twice, else nothing would end within any bound.
  const bool hangs = rng.chance(traits.hang_permille) && assignment.number <= 2;
  if (rng.chance(traits.no_start_permille)) {
    fate.end = Fate::End::kCouldNotStart;
  } else if (traits.poison) {
    fate.end = Fate::End::kPoison;
    fate.runs = rng.between(millis(1), setup.timings.policy.heartbeat_interval);
  } else if (hangs) {
    fate.end = Fate::End::kHangs;
  } else if (fails) {
    fate.end = traits.fails_by_signal ? Fate::End::kSignal : Fate::End::kExitCode;
    fate.code = traits.fails_by_signal ? 9 : traits.exit_code;
    if (traits.out_of_memory) fate.end = Fate::End::kOutOfMemory, fate.code = 9;
  }
  fate.outputs = traits.outputs;
  fate.list = traits.list;
  fate.uploads = traits.uploads;
  fate.writes_every = traits.writes_every;
  fate.too_large = traits.too_large_permille > 0 && rng.chance(traits.too_large_permille);
  return fate;
}

}  // namespace vortex::sim
