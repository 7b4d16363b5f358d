#include <algorithm>

#include "base/reached.h"
#include "core/machine.h"
#include "core/transitions.h"

namespace vortex::core {

namespace {

void join_bulk(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  if (run.in_bulk) return;
  run.in_bulk = true;
  cx.state.bulk.push_back(ix);
}

// Makes tasks of the node until it is complete or the budget is used up.
void expand(Context& cx, RunIx run_ix, std::uint32_t index, std::uint32_t& budget) {
  Run& run = cx.run(run_ix);
  NodeRun const& node = run.nodes[index];
  const std::uint32_t first = run.plan->first_task(index);
  const std::uint32_t tasks = run.plan->tasks_of(index);
  const NodeChild* child = run.plan->nodes[index].child.get();
  // The run that it starts makes tasks as well.
  const std::uint32_t cost = 1 + (child != nullptr && child->plan ? child->plan->tasks : 0);
  while (node.created < tasks && budget > 0) {
    budget -= std::min(budget, cost);
    const TaskIx ix = make_task(cx, run_ix, index, first + node.created);
    move_task(cx, ix, TaskEvent::kNeedsMet, newly_queued(cx, cx.spec_of(cx.task(ix))));
    place_task(cx, ix, Turn::kBehind);
  }
}

void expand_slice(Context& cx, RunIx ix, std::uint32_t& budget) {
  Run& run = cx.run(ix);
  while (!run.expanding.empty() && budget > 0) {
    const std::uint32_t index = run.expanding.front();
    const NodeRun& node = run.nodes[index];
    const bool barred = node.stopped || ending_of(run, index) != RunEnding::kNone;
    if (!barred) expand(cx, ix, index, budget);
    if (!barred && node.created < run.plan->tasks_of(index)) return;
    run.expanding.pop_front();
    check_node_ended(cx, ix, index);
  }
}

// A run that goes on: what a pause or a limit has parked may move again.
void refill_node(Context& cx, RunIx ix, std::uint32_t index) {
  Run& run = cx.run(ix);
  NodeRun& node = run.nodes[index];
  if (is_paused(run) || node.stopped) return;
  const std::uint32_t most = parallel_max(run.plan->node_spec(index));
  if (most == 0) return;
  while (!node.parked.empty() && node.in_play < most) {
    ++node.in_play;
    leave_play(cx, ix, index);
  }
}

// An item that was skipped when its map stopped, and the stop was lifted.
void unskip_item(Context& cx, TaskIx ix) {
  NodeRun& node = cx.node_of(cx.task(ix));
  if (node.phase != NodePhase::kActive) return;
  --node.finals;
  --node.skipped;
  move_task(cx, ix, TaskEvent::kUnskipped, Waiting{});
  Queued queued;
  queued.ready_at = cx.judged;
  move_task(cx, ix, TaskEvent::kNeedsMet, queued);
  place_task(cx, ix, Turn::kBehind);
}

void sweep_task(Context& cx, RunIx run_ix, TaskIx ix) {
  Run& run = cx.run(run_ix);
  Task& task = cx.task(ix);
  const bool map_stopped = run.nodes[task.node].stopped;
  if (ending_of(run, task.node) != RunEnding::kNone) return cancel_task(cx, ix);
  if (task.state() == TaskState::kSkipped) return map_stopped ? void() : unskip_item(cx, ix);
  auto* queued = std::get_if<Queued>(&task.phase);
  if (queued == nullptr) return;
  if (queued->place == Queued::Place::kChild) return;  // what runs goes on
  if (map_stopped) {
    unplace_task(cx, ix);
    return finish_task(cx, ix, TaskEvent::kSkipped, TaskState::kSkipped);
  }
  const bool misplaced = is_paused(run) ? queued->place == Queued::Place::kReady
                                        : queued->place == Queued::Place::kRunParked;
  if (!misplaced) return;
  unplace_task(cx, ix);
  place_task(cx, ix, Turn::kBehind);
}

void sweep_slice(Context& cx, RunIx run_ix, std::uint32_t& budget) {
  Run& run = cx.run(run_ix);
  while (run.sweep_next < run.plan->tasks && budget > 0) {
    const std::uint32_t index = run.plan->node_of_task(run.sweep_next);
    const std::uint32_t first = run.plan->first_task(index);
    const std::uint32_t made_end = first + run.nodes[index].created;
    while (run.sweep_next < made_end && budget > 0) {
      --budget;
      sweep_task(cx, run_ix, run.tasks[run.sweep_next++]);
    }
    if (run.sweep_next < made_end) return;
    refill_node(cx, run_ix, index);
    check_node_ended(cx, run_ix, index);
    run.sweep_next = first + run.plan->tasks_of(index);
    if (budget > 0) --budget;
  }
  if (run.sweep_next < run.plan->tasks) return;
  run.sweeping = false;
  // Of maps without a task none was met on the way.
  for (std::uint32_t node = 0; run.plan->base->late_maps > 0 && node < run.nodes.size(); ++node) {
    if (run.plan->is_late(node) && run.plan->tasks_of(node) == 0)
      check_node_ended(cx, run_ix, node);
  }
}

}  // namespace

bool makes_when_ready(const State& state, const DagPlan& plan) {
  return plan.nodes.size() > state.policy.nodes_at_once;
}

TaskIx make_task(Context& cx, RunIx run_ix, std::uint32_t node, std::uint32_t index) {
  const TaskIx ix = cx.state.tasks.add();
  Task& task = cx.task(ix);
  task.run = run_ix;
  task.node = node;
  task.index = index;
  task.created_at = cx.now;
  Run& run = cx.run(run_ix);
  run.tasks[index] = ix;
  ++run.changes;
  ++run.nodes[node].created;
  ++run.made[number_of(TaskState::kWaiting)];
  cx.count(std::nullopt, TaskState::kWaiting);
  cx.touch(ix);
  cx.touch(run_ix);
  return ix;
}

void begin_expanding(Context& cx, RunIx ix, std::uint32_t node) {
  cx.run(ix).expanding.push_back(node);
  join_bulk(cx, ix);
}

void begin_sweep(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  run.sweeping = true;
  run.sweep_next = 0;
  join_bulk(cx, ix);
}

void free_leftover(State& state) {
  const std::size_t slice =
      std::min<std::size_t>(state.leftover.size(), state.policy.bulk_tasks_per_step);
  for (std::size_t i = 0; i < slice; ++i) {
    const TaskIx ix = state.leftover.back();
    state.leftover.pop_back();
    if (ix.valid()) state.tasks.remove(ix);
  }
  if (state.leftover.empty()) state.leftover.shrink_to_fit();
}

void advance_bulk(Context& cx) {
  std::uint32_t budget = cx.state.policy.bulk_tasks_per_step;
  std::vector<RunIx> still;
  for (std::size_t i = 0; i < cx.state.bulk.size(); ++i) {
    const RunIx ix = cx.state.bulk[i];
    Run& run = cx.run(ix);
    if (run.sweeping && budget > 0) sweep_slice(cx, ix, budget);
    if (!run.expanding.empty() && budget > 0) expand_slice(cx, ix, budget);
    if (run.sweeping || !run.expanding.empty()) {
      REACHED("core: bulk work continued in a later step");
      still.push_back(ix);
    } else {
      run.in_bulk = false;
    }
  }
  cx.state.bulk.swap(still);
}

}  // namespace vortex::core
