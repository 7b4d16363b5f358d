#include "core/levels.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "core/nodes.h"
#include "core/reconcile.h"

namespace vortex::core {

namespace {

void open_gate(Context& cx, RunIx run_ix) {
  Run& run = cx.run(run_ix);
  std::vector<std::uint32_t> waiting;
  waiting.swap(run.gated);
  for (const std::uint32_t index : waiting) {
    if (run.nodes[index].phase != NodePhase::kGated) continue;  // cancelled while it stood here
    run.nodes[index].phase = NodePhase::kPending;
    consider_node(cx, run_ix, index);
  }
}

void announce(Context& cx, RunIx run_ix) {
  Run& run = cx.run(run_ix);
  cx.event(EventKind::kLevelComplete, {.worker = {}, .task = {}, .run = run_ix},
           {{"dag_level", std::int64_t{run.levels_passed}}});
  run.levels_known = run.levels_passed + 1;
  cx.touch(run_ix);
}

}  // namespace

bool level_is_open(const Run& run, std::uint32_t level) {
  return !run.plan->spec.barrier_levels || level <= run.levels_passed;
}

void on_level_progress(Context& cx, RunIx run_ix, std::uint32_t level) {
  Run& run = cx.run(run_ix);
  VX_ASSERT(run.level_open[level] > 0);
  if (--run.level_open[level] > 0) return;
  const bool barrier = run.plan->spec.barrier_levels;
  bool passed = false;
  while (run.levels_passed < run.plan->levels && run.level_open[run.levels_passed] == 0) {
    if (!level_really_complete(cx, run_ix, run.levels_passed)) break;
    if (run.levels_passed >= run.levels_known) announce(cx, run_ix);
    ++run.levels_passed;
    passed = true;
  }
  if (!passed) return;
  if (barrier) open_gate(cx, run_ix);
}

}  // namespace vortex::core
