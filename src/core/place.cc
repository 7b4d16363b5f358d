#include <algorithm>

#include "base/reached.h"
#include "core/machine.h"

namespace vortex::core {

namespace {

Queued& queued_of(Context& cx, TaskIx ix) { return std::get<Queued>(cx.task(ix).phase); }

TimerKey timer_of(TaskIx ix) { return {TimerKind::kTask, ix.value}; }

// The nearest of what may happen to a ready task by itself.
Judged ready_deadline(Context& cx, const Task& task, const Queued& queued) {
  Judged at = kJudgedNever;
  if (queued.keep_away) at = std::min(at, queued.waiting_since + cx.state.policy.keep_away);
  if (!cx.spec_of(task).requirements.worker.empty()) {
    at = std::min(at, queued.waiting_since + cx.state.policy.worker_queue_ttl);
  }
  return at;
}

void place_ready(Context& cx, TaskIx ix, Turn turn) {
  Task const& task = cx.task(ix);
  Queued& queued = queued_of(cx, ix);
  NodeRun& node = cx.node_of(task);
  const std::int8_t priority = cx.priority_of(task);
  queued.place = Queued::Place::kReady;
  // From here on it waits for a worker, and for nothing else.
  queued.waiting_since = cx.judged;
  cx.state.timers.set(timer_of(ix), ready_deadline(cx, task, queued));
  ++node.in_play;
  ++cx.run_of(task).changes;
  if (turn == Turn::kInFront) {
    cx.state.ready.push_front(cx.state.tasks, node.cls, priority, ix);
  } else {
    cx.state.ready.push(cx.state.tasks, node.cls, priority, ix);
  }
}

bool node_is_full(Context& cx, const Task& task, const NodeRun& node) {
  const std::uint32_t most = parallel_max(cx.spec_of(task));
  return most > 0 && node.in_play >= most;
}

// It comes into play: a sub-DAG starts its run, everything else waits for a worker.
void place_in_play(Context& cx, TaskIx ix, Turn turn) {
  cx.spec_of(cx.task(ix)).child ? place_child(cx, ix) : place_ready(cx, ix, turn);
}

void park(Context& cx, TaskList& list, TaskIx ix, Queued::Place place, Turn turn) {
  queued_of(cx, ix).place = place;
  turn == Turn::kInFront ? cx.state.tasks.push_front(list, ix) : cx.state.tasks.push_back(list, ix);
}

}  // namespace

void place_task(Context& cx, TaskIx ix, Turn turn) {
  Task const& task = cx.task(ix);
  if (cx.spec_of(task).wait) return place_wait(cx, ix);
  const Queued& queued = queued_of(cx, ix);
  if (queued.ready_at > cx.judged) {
    cx.state.timers.set(timer_of(ix), queued.ready_at);
    return;
  }
  cx.state.timers.clear(timer_of(ix));
  Run& run = cx.run_of(task);
  NodeRun& node = run.nodes[task.node];
  if (is_paused(run)) return park(cx, run.parked, ix, Queued::Place::kRunParked, turn);
  if (node_is_full(cx, task, node)) {
    return park(cx, node.parked, ix, Queued::Place::kNodeParked, turn);
  }
  place_in_play(cx, ix, turn);
}

void unplace_task(Context& cx, TaskIx ix) {
  Task const& task = cx.task(ix);
  Queued& queued = queued_of(cx, ix);
  Run& run = cx.run_of(task);
  NodeRun& node = run.nodes[task.node];
  const Queued::Place place = std::exchange(queued.place, Queued::Place::kNowhere);
  cx.state.timers.clear(timer_of(ix));
  switch (place) {
    case Queued::Place::kNowhere:
      return;
    case Queued::Place::kWait:
      return forget_wait(cx, ix);
    case Queued::Place::kNodeParked:
      return cx.state.tasks.unlink(node.parked, ix);
    case Queued::Place::kRunParked:
      return cx.state.tasks.unlink(run.parked, ix);
    case Queued::Place::kChild:
      return leave_play(cx, task.run, task.node);
    case Queued::Place::kReady:
      cx.state.ready.remove(cx.state.tasks, node.cls, cx.priority_of(task), ix);
      return leave_play(cx, task.run, task.node);
  }
}

void leave_play(Context& cx, RunIx run_ix, std::uint32_t node_index) {
  Run& run = cx.run(run_ix);
  NodeRun& node = run.nodes[node_index];
  --node.in_play;
  ++run.changes;
  if (node.parked.empty() || is_paused(run) || node.stopped) return;
  if (ending_of(run, node_index) != RunEnding::kNone) return;
  const TaskIx next = node.parked.head;
  cx.state.tasks.unlink(node.parked, next);
  place_in_play(cx, next, Turn::kBehind);
}

void on_queued_timer(Context& cx, TaskIx ix) {
  Task const& task = cx.task(ix);
  Queued& queued = queued_of(cx, ix);
  if (queued.place == Queued::Place::kNowhere) {
    return place_task(cx, ix, task.counters.failures > 0 ? Turn::kBehind : Turn::kInFront);
  }
  const bool pinned = !cx.spec_of(task).requirements.worker.empty();
  // While a limit is full no worker could have it, so the time it waits for one does not pass.
  if (pinned && cx.state.ready[cx.node_of(task).cls].blocked) queued.waiting_since = cx.judged;
  if (pinned && cx.judged >= queued.waiting_since + cx.state.policy.worker_queue_ttl) {
    const std::string& worker = cx.spec_of(task).requirements.worker.text;
    REACHED("core: task expired while it waited for one worker");
    return die_in_queue(cx, ix, DeathReason::kWorkerQueueExpired,
                        "waited too long for worker '" + worker + "'");
  }
  if (queued.keep_away && cx.judged >= queued.waiting_since + cx.state.policy.keep_away) {
    queued.keep_away = false;
    TaskClass& cls = cx.state.ready[cx.node_of(task).cls];
    if (!cls.dirty) cls.dirty = true, cx.state.ready.dirty.push_back(cx.node_of(task).cls);
  }
  cx.state.timers.set(timer_of(ix), ready_deadline(cx, task, queued));
}

}  // namespace vortex::core
