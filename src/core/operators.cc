#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/reached.h"
#include "core/context.h"
#include "core/load.h"
#include "core/machine.h"
#include "core/transitions.h"

namespace vortex::core {
namespace {

// Once everything else has ended, it is for the `finally` tasks.
void end_run(Context& cx, RunIx ix, RunEnding why) {
  if (end_if_unbegun(cx, ix)) return;
  Run& run = cx.run(ix);
  const bool last = in_finally(run);
  RunEnding& ending = last ? run.finally_ending : run.ending;
  if (ending != RunEnding::kNone) return;
  if (last) REACHED("core: finally tasks stopped");
  ending = why;
  cx.state.promises.clear({TimerKind::kRun, ix.value});  // it will not start any more
  cx.touch(ix);
  cx.event(EventKind::kRunCancelRequested, {.worker = {}, .task = {}, .run = ix},
           {{"reason", std::string(why != RunEnding::kTimedOut ? "cancel"
                                   : last                      ? "finally timeout"
                                                               : "run timeout")}},
           Severity::kWarning);
  begin_sweep(cx, ix);
  pass_down(cx, ix);
}

}  // namespace

void request_stop(Context& cx, TaskIx ix, StopReason why) {
  Grant& grant = *cx.task(ix).grant();
  const bool asked = grant.stop != StopReason::kNone;
  if (asked && (why != StopReason::kCancel || grant.stop == StopReason::kCancel)) return;
  grant.stop = why;
  // No answer has carried it to the worker yet: nobody has to be asked.
  if (grant.sent_in == 0 && !grant.restored) return end_stopped(cx, ix);
  if (!asked) {
    grant.stop_deadline = cx.judged + cx.state.policy.worker_lease;
    cx.state.timers.set({TimerKind::kTask, ix.value}, grant.stop_deadline);
  }
  cx.touch(ix);
  tell_news(cx, grant.worker);
}

void cancel_task(Context& cx, TaskIx ix) {
  Task const& task = cx.task(ix);
  const TaskState state = task.state();
  if (is_final(state)) return;
  if (is_held(state)) return request_stop(cx, ix, StopReason::kCancel);
  if (state == TaskState::kQueued && stop_child_of(cx, ix)) return;
  if (state == TaskState::kQueued) unplace_task(cx, ix);
  cx.event(EventKind::kTaskCancelled, {.worker = {}, .task = ix, .run = {}});
  finish_task(cx, ix, TaskEvent::kCancelled, TaskState::kCancelled);
}

void on_cancel_run(Context& cx, const CancelRun& command) {
  const RunIx ix = cx.state.runs.find(command.run);
  if (!ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.run));
  end_run(cx, ix, RunEnding::kCancelled);
  cx.reply(command.request, Done{});
}

void cancel_run(Context& cx, RunIx ix, RunEnding why) {
  const Run& run = cx.run(ix);
  if (run.ending == RunEnding::kNone && !in_finally(run)) end_run(cx, ix, why);
}

void on_run_timer(Context& cx, RunIx ix) { end_run(cx, ix, RunEnding::kTimedOut); }

void on_pause_run(Context& cx, const PauseRun& command) {
  const RunIx ix = cx.state.runs.find(command.run);
  if (!ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.run));
  Run& run = cx.run(ix);
  if (run.ending != RunEnding::kNone || run.finally_ending != RunEnding::kNone) {
    return cx.refuse(command.request, RefusalKind::kRunEnding);
  }
  if (run.paused != command.paused) {
    run.paused = command.paused;
    cx.touch(ix);
    cx.event(command.paused ? EventKind::kRunPaused : EventKind::kRunResumed,
             {.worker = {}, .task = {}, .run = ix});
    begin_sweep(cx, ix);
    pass_down(cx, ix);
  }
  cx.reply(command.request, Done{});
}

void on_cancel_task(Context& cx, const CancelTask& command) {
  const RunIx run_ix = cx.state.runs.find(command.task.run);
  if (!run_ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.task.run));
  const Run& run = cx.run(run_ix);
  if (command.task.index >= run.tasks.size() || !run.tasks[command.task.index].valid()) {
    return cx.refuse(command.request, RefusalKind::kUnknownTask);
  }
  if (run.waits_for_turn) {
    return cx.refuse(command.request, RefusalKind::kWrongState,
                     to_text(run.id) + " waits for its turn; cancel the run as a whole, or wait");
  }
  const TaskIx ix = run.tasks[command.task.index];
  if (is_final(cx.task(ix).state())) return cx.refuse(command.request, RefusalKind::kWrongState);
  // A single waiting task ends here; its node is then done and what needs it is decided on.
  cancel_task(cx, ix);
  cx.reply(command.request, Done{});
}

namespace {

// A node is open again. Its outcome no longer counts for the nodes that need it.
void reopen_node(Run& run, std::uint32_t index) {
  NodeRun& node = run.nodes[index];
  const std::uint32_t level = run.plan->nodes[index].level;
  ++run.nodes_open;
  if (!is_last(run, index)) ++run.ordinary_open;
  ++run.level_open[level];
  // What already runs on higher levels is not called back; what has not started waits again.
  run.levels_passed = std::min(run.levels_passed, level);
  run.levels_known = run.levels_passed;  // when it completes once more, that is told once more
  for (const std::uint32_t reader : run.plan->nodes[index].readers) {
    if (run.nodes[reader].phase == NodePhase::kGated) {
      run.nodes[reader].phase = NodePhase::kPending;
    }
  }
  const NodeOutcome counted = counted_as(run.plan->node_spec(index), node.outcome);
  for (const std::uint32_t later : run.plan->nodes[index].needed_by) {
    NodeRun& next = run.nodes[later];
    // What its needs said is open again: it is judged anew when this one ends.
    if (next.phase == NodePhase::kGated) next.phase = NodePhase::kPending;
    --next.needs_done;
    if (counted == NodeOutcome::kSuccess) --next.needs_ok;
    if (counted == NodeOutcome::kFailed || counted == NodeOutcome::kCancelled) {
      --next.needs_failed;
    }
    if (counted == NodeOutcome::kSkipped) --next.needs_skipped;
  }
  node.phase = NodePhase::kActive;
}

void unskip_tasks(Context& cx, Run& run, std::uint32_t index) {
  NodeRun& node = run.nodes[index];
  node.stopped = false;
  node.phase = NodePhase::kPending;
  if (node.created == 0) return;
  const TaskIx ix = first_task_of(run, index);
  if (TaskNotes* notes = cx.task(ix).notes.get()) notes->error.clear();  // why it was skipped
  move_task(cx, ix, TaskEvent::kUnskipped, Waiting{});
  --node.finals;
  --node.skipped;
}

bool is_skipped(const Run& run, std::uint32_t index) {
  const NodeRun& node = run.nodes[index];
  return node.phase == NodePhase::kDone && node.outcome == NodeOutcome::kSkipped;
}

// Whether the node may still start, as its needs and its condition stand now.
bool has_hope(const Run& run, std::uint32_t index) {
  const RuleSays says = judge_node(run, index);
  return says != RuleSays::kNever && says != RuleSays::kSkip;
}

// Everything that was skipped, directly or further down, waits for its needs again, and so does
// what was skipped by a condition that is to be decided anew; not what other ends rule out as well.
// A node below is looked at once more with each of its needs that opens.
void unskip_below(Context& cx, Run& run, std::uint32_t from) {
  std::vector<std::uint32_t> open{from};
  while (!open.empty()) {
    const std::uint32_t index = open.back();
    open.pop_back();
    const PlanNode& plan = run.plan->nodes[index];
    for (const auto* list : {&plan.needed_by, &plan.readers}) {
      for (const std::uint32_t later : *list) {
        // What comes last has had its turn: it is not decided on a second time.
        if (is_last(run, later) != is_last(run, from)) continue;
        if (!is_skipped(run, later) || !has_hope(run, later)) continue;
        reopen_node(run, later);
        unskip_tasks(cx, run, later);
        open.push_back(later);
      }
    }
  }
}

// A map that has made no item yet is judged anew: in the rows it has not begun, so a load would let
// it wait for the need, or the level, that has just been opened again.
void judge_unmade_anew(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  std::vector<std::uint32_t> unmade;
  for (const std::uint32_t index : run.expanding) {
    NodeRun& node = run.nodes[index];
    if (node.created > 0 || node.phase != NodePhase::kActive) continue;
    node.phase = NodePhase::kPending;
    unmade.push_back(index);
  }
  if (unmade.empty()) return;
  std::erase_if(run.expanding, [&](std::uint32_t i) { return run.nodes[i].created == 0; });
  for (const std::uint32_t index : unmade) consider_node(cx, ix, index);
}

// Which nodes spoil the run is seen anew.
void judge_failures(Run& run) {
  run.any_failed = false;
  run.finally_failed = false;
  for (std::uint32_t i = 0; i < run.nodes.size(); ++i) {
    const NodeRun& node = run.nodes[i];
    const NodeOutcome counted = counted_as(run.plan->node_spec(i), node.outcome);
    if (node.phase != NodePhase::kDone || !spoils_run(counted)) continue;
    (is_last(run, i) ? run.finally_failed : run.any_failed) = true;
  }
}

// Nodes of `finally` that were skipped before they had a task are decided on when the run ends
// again: the rows do not say that they were.
void reopen_unmade_finally(Run& run) {
  for (const std::uint32_t index : run.plan->finally) {
    NodeRun& node = run.nodes[index];
    if (node.phase != NodePhase::kDone || node.created > 0) continue;
    reopen_node(run, index);
    node.phase = NodePhase::kPending;
    node.stopped = false;
  }
}

void close_letter(Context& cx, TaskId id, DeadLetterState state) {
  const auto letter = cx.state.dead_letters.find(id);
  if (letter == cx.state.dead_letters.end()) return;
  const OpenDeadLetter& open = letter->second;
  cx.fx.rows.dead_letters.push_back({{id, open.epoch}, open.reason, state, open.at, open.message});
  cx.state.dead_letters.erase(letter);
}

// A map that had stopped goes on: what it skipped and what it never made comes back in slices.
void lift_stop(Context& cx, RunIx ix, std::uint32_t index) {
  Run& run = cx.run(ix);
  NodeRun& node = run.nodes[index];
  if (!node.stopped) return;
  node.stopped = false;
  std::erase(run.stopped_maps, index);
  begin_sweep(cx, ix);
  if (node.created < run.plan->tasks_of(index)) begin_expanding(cx, ix, index);
}

void revive(Context& cx, TaskIx ix, EventKind why) {
  Task& task = cx.task(ix);
  Run& run = cx.run_of(task);
  NodeRun& node = run.nodes[task.node];
  const bool was_done = node.phase == NodePhase::kDone;
  if (was_done) reopen_node(run, task.node);
  --node.finals;
  --node.failed;
  lift_stop(cx, task.run, task.node);
  if (was_done) unskip_below(cx, run, task.node);
  if (was_done) judge_unmade_anew(cx, task.run);
  if (!is_last(run, task.node)) reopen_unmade_finally(run);
  judge_failures(run);
  close_letter(cx, cx.id_of(task), DeadLetterState::kRedriven);
  task.epoch = task.epoch.next();
  // Its attempts are numbered on: a number names one attempt for ever.
  task.counters = {.attempts = task.counters.attempts};
  move_task(cx, ix, TaskEvent::kRevived, newly_queued(cx, cx.spec_of(task)));
  cx.touch(task.run);
  cx.event(why, {.worker = {}, .task = ix, .run = {}},
           {{"epoch", static_cast<std::int64_t>(task.epoch.value)}});
  place_task(cx, ix, Turn::kInFront);
}

constexpr const char* kOnlyFailed = "only a failed task can be retried";
constexpr const char* kNoItems =
    "this task stands for a map that had no items to be made of; start a new run instead";
constexpr const char* kOfChild =
    "its run is a sub-DAG of another run, whose task has ended; retry that task instead";
constexpr const char* kLastRuns =
    "the finally tasks of its run are running; retry it when the run has ended";

// Whether the only task of the node is the one that failed because its map had no items.
bool stands_for_map(const LateCounts& counts, std::uint32_t node) {
  for (std::size_t i = 0; i + 1 < counts.size(); i += 2) {
    if (counts[i] == node) return counts[i + 1] == kLateFailed;
  }
  return false;
}

struct NotRevivable {
  RefusalKind kind = RefusalKind::kWrongState;
  const char* detail = "";
};

std::optional<NotRevivable> refusal_of(Context& cx, TaskId id) {
  const TaskIx ix = find_task(cx.state, id);
  if (!ix.valid()) return NotRevivable{RefusalKind::kUnknownTask};
  const Run& run = cx.run_of(cx.task(ix));
  const std::uint32_t node = cx.task(ix).node;
  if (ending_of(run, node) != RunEnding::kNone || run.finally_ending != RunEnding::kNone) {
    return NotRevivable{RefusalKind::kRunEnding};
  }
  if (cx.task(ix).state() != TaskState::kFailed) {
    return NotRevivable{RefusalKind::kWrongState, kOnlyFailed};
  }
  const LaidOut* map = run.plan->laid_out(node);
  if (map != nullptr && map->failed) return NotRevivable{RefusalKind::kWrongState, kNoItems};
  if (in_finally(run) && !is_last(run, node)) {
    return NotRevivable{RefusalKind::kWrongState, kLastRuns};
  }
  return std::nullopt;
}

std::optional<NotRevivable> refusal_of(const RunImage& image, TaskId id) {
  const auto row = std::find_if(image.tasks.begin(), image.tasks.end(),
                                [&](const TaskRow& task) { return task.id == id; });
  if (image.run.id != id.run || row == image.tasks.end()) {
    return NotRevivable{RefusalKind::kUnknownTask};
  }
  // Nobody would wait for what it brings.
  if (image.run.request && image.run.request->parent.value != 0) {
    return NotRevivable{RefusalKind::kWrongState, kOfChild};
  }
  const bool last = image.run.plan->node_spec(row->node).finally;
  const bool ended = !last && image.run.ending != RunEnding::kNone;
  if (ended || image.run.finally_ending != RunEnding::kNone) {
    return NotRevivable{RefusalKind::kRunEnding};
  }
  if (row->state != TaskState::kFailed) {
    return NotRevivable{RefusalKind::kWrongState, kOnlyFailed};
  }
  if (stands_for_map(image.run.late, row->node)) {
    return NotRevivable{RefusalKind::kWrongState, kNoItems};
  }
  return std::nullopt;
}

// The task if it may be revived, its run brought back into memory if need be; else the refusal has
// been sent and nothing was changed.
TaskIx revivable(Context& cx, RequestId request, TaskId id, const RunImage* image) {
  const bool live = cx.state.runs.find(id.run).valid();
  if (!live && image == nullptr) {
    cx.refuse(request, absent_run(cx.state, id.run));
    return {};
  }
  if (const auto refusal = live ? refusal_of(cx, id) : refusal_of(*image, id)) {
    cx.refuse(request, refusal->kind, refusal->detail);
    return {};
  }
  const bool known = !live && image->run.request;
  if (std::string full =
          known ? why_group_is_full(cx.state, *image->run.plan, *image->run.request) : "";
      !full.empty()) {
    cx.refuse(request, RefusalKind::kWrongState, std::move(full));
    return {};
  }
  if (!live) {
    REACHED("core: finished run came back into memory");
    restore_run(cx, *image);
  }
  return find_task(cx.state, id);
}

}  // namespace

void on_retry_task(Context& cx, const RetryTask& command) {
  const TaskIx ix = revivable(cx, command.request, command.task, command.image.get());
  if (!ix.valid()) return;
  revive(cx, ix, EventKind::kTaskRetry);
  cx.reply(command.request, Done{});
}

void on_redrive(Context& cx, const RedriveDeadLetter& command) {
  if (!cx.state.dead_letters.contains(command.task)) {
    return cx.refuse(command.request, RefusalKind::kNoDeadLetter);
  }
  const TaskIx ix = revivable(cx, command.request, command.task, command.image.get());
  if (!ix.valid()) return;
  REACHED("core: dead letter re-driven");
  revive(cx, ix, EventKind::kTaskRedriven);
  cx.reply(command.request, Done{});
}

void on_discard(Context& cx, const DiscardDeadLetter& command) {
  if (!cx.state.dead_letters.contains(command.task)) {
    return cx.refuse(command.request, RefusalKind::kNoDeadLetter);
  }
  close_letter(cx, command.task, DeadLetterState::kDiscarded);
  cx.event(EventKind::kTaskDiscarded,
           {.worker = {}, .task = find_task(cx.state, command.task), .run = {}},
           {{"run", static_cast<std::int64_t>(command.task.run.value)},
            {"index", std::int64_t{command.task.index}}});
  cx.reply(command.request, Done{});
}

void on_pause_queue(Context& cx, const PauseQueue& command) {
  if (command.queue.empty()) {
    return cx.refuse(command.request, RefusalKind::kMalformed,
                     "the name of the queue must not be empty");
  }
  const QueueIx ix = cx.state.ready.queue(command.queue);
  Queue& queue = cx.state.ready[ix];
  if (queue.paused != command.paused) {
    queue.paused = command.paused;
    cx.fx.rows.queues.push_back({command.queue, command.paused});
    cx.event(command.paused ? EventKind::kQueuePaused : EventKind::kQueueResumed, {},
             {{"queue", command.queue}});
    for (const HeadKey& head : queue.heads) {
      TaskClass& cls = cx.state.ready[head.cls];
      if (!cls.dirty) cls.dirty = true, cx.state.ready.dirty.push_back(head.cls);
    }
  }
  cx.reply(command.request, Done{});
}

}  // namespace vortex::core
