#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/reconcile.h"

namespace vortex::core {
namespace {

// No further task of this node will be made.
bool closed_to_new(const Run& run, std::uint32_t index) {
  return ending_of(run, index) != RunEnding::kNone || run.nodes[index].stopped;
}

NodeOutcome outcome_of(const Run& run, std::uint32_t index) {
  const NodeRun& node = run.nodes[index];
  const bool unmade = !run.plan->is_counted(index) || node.created < run.plan->tasks_of(index);
  const auto& map = run.plan->node_spec(index).map;
  const std::uint32_t tolerated = map ? map->max_failures.value_or(0) : 0;
  // A map whose condition could not be evaluated stopped at its first item.
  if (node.failed > tolerated || (node.stopped && node.failed > 0)) return NodeOutcome::kFailed;
  if (node.cancelled > 0 || ending_of(run, index) != RunEnding::kNone) {
    // Cancelled, unless everything had already come to its end by itself.
    if (node.cancelled > 0 || unmade) return NodeOutcome::kCancelled;
  }
  if (node.skipped > 0 || unmade) return NodeOutcome::kSkipped;
  return NodeOutcome::kSuccess;
}

void count_need(NodeRun& node, NodeOutcome outcome) {
  ++node.needs_done;
  if (outcome == NodeOutcome::kSuccess) ++node.needs_ok;
  if (outcome == NodeOutcome::kFailed || outcome == NodeOutcome::kCancelled) ++node.needs_failed;
  if (outcome == NodeOutcome::kSkipped) ++node.needs_skipped;
}

void skip_node(Context& cx, RunIx run_ix, std::uint32_t index) {
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[index];
  node.stopped = true;
  if (node.created == 0) return check_node_ended(cx, run_ix, index);
  const TaskIx ix = first_task_of(run, index);
  finish_task(cx, ix, TaskEvent::kSkipped, TaskState::kSkipped);
}

// The reason goes into the row of the task; a map has none then, so the log has it as well.
void skip_by_condition(Context& cx, RunIx run_ix, std::uint32_t index) {
  Run& run = cx.run(run_ix);
  const TaskIx ix = first_task_of(run, index);
  const NodeSpec& spec = run.plan->node_spec(index);
  const std::string why = why_condition(run, index);
  if (run.nodes[index].created > 0) cx.task(ix).notes_for_writing().error = why;
  if (!cx.restoring && (run.nodes[index].created > 0 || spec.map)) {
    cx.event(EventKind::kTaskSkipped, {.worker = {}, .task = ix, .run = run_ix},
             {{"name", spec.name}, {"reason", why}});
  }
  REACHED("core: node skipped by its condition");
  skip_node(cx, run_ix, index);
}

// Its first task fails and says why. Of a map no other item is made.
void fail_undecided(Context& cx, RunIx run_ix, std::uint32_t index, DeathReason reason,
                    std::string why) {
  lay_out_failed(cx, run_ix, index);
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[index];
  const TaskIx ix = node.created > 0 ? first_task_of(run, index)
                                     : make_task(cx, run_ix, index, run.plan->first_task(index));
  node.phase = NodePhase::kActive;
  if (run.plan->node_spec(index).map) {
    node.stopped = true;
    run.stopped_maps.push_back(index);
    cx.touch(run_ix);
  }
  die_undecided(cx, ix, reason, std::move(why));
}

void fail_node(Context& cx, RunIx run_ix, std::uint32_t index) {
  const Run& run = cx.run(run_ix);
  std::string why = why_no_items(run, index);
  const std::string condition = why_condition(run, index);
  if (condition.empty()) {
    return fail_undecided(cx, run_ix, index, DeathReason::kMapError, std::move(why));
  }
  REACHED("core: condition could not be evaluated");
  fail_undecided(cx, run_ix, index, DeathReason::kConditionError, condition);
}

void start_node(Context& cx, RunIx run_ix, std::uint32_t index) {
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[index];
  if (!run.plan->is_counted(index)) {
    std::string wrong = lay_out_map(cx, run_ix, index);
    if (!wrong.empty()) {
      return fail_undecided(cx, run_ix, index, DeathReason::kMapError, std::move(wrong));
    }
  }
  node.phase = NodePhase::kActive;
  if (const KeptNode* kept = kept_for(cx, run_ix, index)) {
    return keep_node(cx, run_ix, index, *kept);
  }
  // Nothing is to be made, so it need not stand in line with what is made in slices.
  if (run.plan->tasks_of(index) == 0) return check_node_ended(cx, run_ix, index);
  const TaskIx ix = first_task_of(run, index);
  const bool is_map = run.plan->node_spec(index).map.has_value();
  if (is_map || !ix.valid()) return begin_expanding(cx, run_ix, index);
  move_task(cx, ix, TaskEvent::kNeedsMet, newly_queued(cx, run.plan->node_spec(index)));
  place_task(cx, ix, Turn::kBehind);
}

// Whether the rows that are being loaded say that the `finally` tasks have begun: their levels are
// above those of all others, which are announced in the step that lets them begin.
bool finally_had_begun(const Context& cx, const Run& run) {
  if (!cx.restoring) return false;
  return std::ranges::any_of(run.plan->finally, [&](std::uint32_t node) {
    return run.plan->nodes[node].level <= run.levels_known;
  });
}

// Everything else has ended. kAgain: that was told of before the state was loaded.
enum class Begin : std::uint8_t { kNow, kAgain };
void begin_finally(Context& cx, RunIx run_ix, Begin begin) {
  Run& run = cx.run(run_ix);
  if (run.waits_for_turn) return;  // it has ended before it began
  if (planted(PlantedBug::kFinallySkippedAfterCancel) && run.ending != RunEnding::kNone) {
    run.finally_ending = run.ending;
    return begin_sweep(cx, run_ix);
  }
  if (begin == Begin::kNow) {
    // Nobody could resume it any more.
    if (run.ending != RunEnding::kNone && run.paused) {
      run.paused = false;
      cx.event(EventKind::kRunResumed, {.worker = {}, .task = {}, .run = run_ix});
    }
    run.timeout_at = cx.judged + run.plan->spec.finally_timeout.value_or(kFinallyTimeout);
    cx.state.timers.set({TimerKind::kRun, run_ix.value}, run.timeout_at);
    cx.touch(run_ix);
    cx.event(EventKind::kFinallyStarted, {.worker = {}, .task = {}, .run = run_ix},
             {{"result", std::string(to_text(result_of(run)))}});
  }
  for (const std::uint32_t node : run.plan->finally) consider_node(cx, run_ix, node);
}

void on_node_ended(Context& cx, RunIx run_ix, std::uint32_t index) {
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[index];
  if (node.phase == NodePhase::kDone) return;
  if (!node_really_complete(cx, run_ix, index)) return;
  node.phase = NodePhase::kDone;
  node.outcome = outcome_of(run, index);
  const NodeOutcome counted = counted_as(run.plan->node_spec(index), node.outcome);
  const bool last = is_last(run, index);
  if (spoils_run(counted)) (last ? run.finally_failed : run.any_failed) = true;
  --run.nodes_open;
  if (!last) --run.ordinary_open;
  for (const std::uint32_t later : run.plan->nodes[index].needed_by) {
    count_need(run.nodes[later], counted);
    consider_node(cx, run_ix, later);
  }
  for (const std::uint32_t reader : run.plan->nodes[index].readers) {
    consider_node(cx, run_ix, reader);
  }
  const Begin begin = finally_had_begun(cx, run) ? Begin::kAgain : Begin::kNow;
  on_level_progress(cx, run_ix, run.plan->nodes[index].level);
  if (!last && in_finally(run)) begin_finally(cx, run_ix, begin);
  if (run.nodes_open == 0) cx.runs_ended.push_back(run_ix);
}

RunState state_at_end(const Run& run) {
  if (run.ending == RunEnding::kCancelled || run.finally_ending == RunEnding::kCancelled) {
    return RunState::kCancelled;
  }
  const bool timed_out =
      run.ending == RunEnding::kTimedOut || run.finally_ending == RunEnding::kTimedOut;
  if (timed_out || run.any_failed || run.finally_failed) return RunState::kFailed;
  return RunState::kCompleted;
}

void on_run_ended(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  run.state = state_at_end(run);
  cx.touch(ix);
  cx.state.timers.clear({TimerKind::kRun, ix.value});
  cx.state.promises.clear({TimerKind::kRun, ix.value});
  cx.event(EventKind::kRunComplete, {.worker = {}, .task = {}, .run = ix},
           {{"state", std::string(to_text(run.state))}});
  leave_group(cx, run);
  if (run.request && !run.request->schedule.empty()) on_scheduled_run_ended(cx, run);
  if (run.request && run.request->parent.value != 0) on_child_ended(cx, run);
}

}  // namespace

RunResult result_of(const Run& run) {
  if (run.ending == RunEnding::kCancelled) return RunResult::kCancelled;
  if (run.ending == RunEnding::kTimedOut) return RunResult::kTimedOut;
  return run.any_failed ? RunResult::kFailed : RunResult::kCompleted;
}

RuleSays judge_rule(TriggerRule rule, std::uint32_t needs, const NodeRun& node) {
  const bool all_done = node.needs_done == needs;
  const std::uint32_t not_ok = node.needs_done - node.needs_ok;
  const auto when_all_done = [all_done](bool hopeless) {
    if (hopeless) return RuleSays::kNever;
    return all_done ? RuleSays::kStart : RuleSays::kWait;
  };
  const auto when_one = [all_done](std::uint32_t found) {
    if (found > 0) return RuleSays::kStart;
    return all_done ? RuleSays::kNever : RuleSays::kWait;
  };
  if (needs == 0) return RuleSays::kStart;
  if (planted(PlantedBug::kStartWhenAnyNeedMet) && node.needs_ok > 0) return RuleSays::kStart;
  switch (rule) {
    case TriggerRule::kAllSuccess:
      return when_all_done(not_ok > 0);
    case TriggerRule::kAllFailed:
      return when_all_done(node.needs_done > node.needs_failed);
    case TriggerRule::kAllDone:
      return when_all_done(false);
    case TriggerRule::kOneSuccess:
      return when_one(node.needs_ok);
    case TriggerRule::kOneFailed:
      return when_one(node.needs_failed);
    case TriggerRule::kNoneFailed:
      return when_all_done(node.needs_failed > 0);
    case TriggerRule::kNoneSkipped:
      return when_all_done(node.needs_skipped > 0);
  }
  return RuleSays::kWait;
}

void consider_node(Context& cx, RunIx run_ix, std::uint32_t index) {
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[index];
  if (node.phase != NodePhase::kPending || closed_to_new(run, index)) return;
  if (run.waits_for_turn || is_ahead(run, index)) return;
  const std::uint32_t others = planted(PlantedBug::kFinallyStartsEarly) ? 1 : 0;
  if (is_last(run, index) && run.ordinary_open > others) return;
  switch (judge_node(run, index)) {
    case RuleSays::kWait:
      return;
    case RuleSays::kNever:
      REACHED("core: node skipped because its needs cannot be met");
      return skip_node(cx, run_ix, index);
    case RuleSays::kSkip:
      return skip_by_condition(cx, run_ix, index);
    case RuleSays::kFail:
      return fail_node(cx, run_ix, index);
    case RuleSays::kStart:
      break;
  }
  if (level_is_open(run, run.plan->nodes[index].level)) return start_node(cx, run_ix, index);
  node.phase = NodePhase::kGated;
  run.gated.push_back(index);
}

void finish_task(Context& cx, TaskIx ix, TaskEvent event, TaskState outcome) {
  Task const& task = cx.task(ix);
  cx.state.timers.clear({TimerKind::kTask, ix.value});
  forget_wait(cx, ix);
  Final end{outcome, task.last_worker()};
  if (const auto* running = std::get_if<Running>(&task.phase)) {
    end.started = running->started;
    end.percent = running->percent;
  }
  move_task(cx, ix, event, end);
  NodeRun& node = cx.node_of(task);
  ++node.finals;
  if (outcome == TaskState::kFailed) ++node.failed;
  if (outcome == TaskState::kCancelled) ++node.cancelled;
  if (outcome == TaskState::kSkipped) ++node.skipped;
  if (outcome == TaskState::kFailed) check_map_failures(cx, task.run, task.node);
  check_node_ended(cx, task.run, task.node);
}

void check_map_failures(Context& cx, RunIx run_ix, std::uint32_t index) {
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[index];
  const auto& map = run.plan->node_spec(index).map;
  if (!map || !map->max_failures || node.failed <= *map->max_failures || node.stopped) return;
  REACHED("core: map stopped at too many failures");
  node.stopped = true;
  run.stopped_maps.push_back(index);
  cx.touch(run_ix);
  begin_sweep(cx, run_ix);
}

void check_node_ended(Context& cx, RunIx run_ix, std::uint32_t index) {
  const Run& run = cx.run(run_ix);
  const NodeRun& node = run.nodes[index];
  const bool closed = closed_to_new(run, index);
  const bool made = run.plan->is_counted(index) && node.created == run.plan->tasks_of(index);
  const bool complete = made || closed;
  if (!complete || node.finals != node.created) return;
  // Its stop was lifted: what it has skipped comes back when the sweep gets there.
  const bool is_map = run.plan->node_spec(index).map.has_value();
  if (is_map && !closed && run.sweeping && node.skipped > 0) {
    REACHED("core: map waits for its skipped items");
    return;
  }
  cx.nodes_ended.push_back({run_ix, index});
}

void settle_nodes(Context& cx) {
  do {
    // Grows while it is walked: an end may cause others.
    for (std::size_t i = 0; i < cx.nodes_ended.size(); ++i) {
      const Context::NodeRef ended = cx.nodes_ended[i];
      on_node_ended(cx, ended.run, ended.node);
    }
    cx.nodes_ended.clear();
    start_children(cx);
  } while (!cx.nodes_ended.empty());
}

void settle(Context& cx) {
  do {
    settle_nodes(cx);
    while (!cx.runs_ended.empty()) {
      for (const RunIx ix : std::exchange(cx.runs_ended, {})) {
        const Run& run = cx.run(ix);
        // An operator's retry may have opened it again in the same step; once ended it is in the
        // list.
        if (run.nodes_open > 0 || run.state != RunState::kRunning) continue;
        on_run_ended(cx, ix);
        cx.runs_closed.push_back(ix);
        settle_nodes(cx);  // the end of a child may be the last that its parent waited for
      }
    }
  } while (!cx.restoring && give_turns(cx));
}

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
