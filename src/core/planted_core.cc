#include "core/planted_core.h"

#include <utility>

#include "core/context.h"
#include "core/machine.h"
#include "core/transitions.h"

#ifdef VX_PLANTED_BUGS

namespace vortex::core {

bool adopt_unheld(Context& cx, const Attempt& attempt, WorkerIx worker) {
  const TaskIx ix = find_task(cx.state, attempt.task);
  if (!ix.valid()) return false;
  auto* queued = std::get_if<Queued>(&cx.task(ix).phase);
  if (queued == nullptr || queued->place != Queued::Place::kReady) return false;
  const NodeRun& node = cx.node_of(cx.task(ix));
  cx.state.ready.remove(cx.state.tasks, node.cls, cx.priority_of(cx.task(ix)), ix);
  Scheduled scheduled;
  scheduled.grant.worker = worker;
  scheduled.grant.granted_at = cx.now;
  cx.task(ix).epoch = attempt.epoch;
  move_task(cx, ix, TaskEvent::kGranted, scheduled);
  ++cx.task(ix).counters.attempts;
  take_slot(cx, ix, worker);
  return true;
}

void split_planted_loss(Context& cx, WorkerIx ix) { cx.state.planted.split.push_back(ix); }

void finish_planted_split(Context& cx) {
  for (const WorkerIx ix : std::exchange(cx.state.planted.split, {})) {
    lose_worker(cx, ix, Evidence::kReconciler);
  }
}

void remember_stale_read(Context& cx, WorkerIx ix, const std::vector<HeldTask>& held) {
  auto& remembered = cx.state.planted.reads[ix];
  remembered.clear();
  for (const HeldTask& item : held) remembered.push_back(item.attempt.task);
}

void recover_from_stale_read(Context& cx, WorkerIx ix) {
  for (const TaskId id : std::exchange(cx.state.planted.reads[ix], {})) {
    const TaskIx t = find_task(cx.state, id);
    if (!t.valid()) continue;
    Task& task = cx.task(t);
    if (task.grant() != nullptr) {
      AttemptEnd end;
      end.verdict = Verdict::kWorkerLost;
      end.blame = Blame::kRelease;
      end_attempt(cx, t, end);
    } else if (task.state() == TaskState::kCompleted) {
      --cx.node_of(task).finals;
      task.epoch = task.epoch.next();
      task.phase = Queued{};
      cx.touch(t);
      place_task(cx, t, Turn::kInFront);
    }
  }
}

}  // namespace vortex::core

#endif
