#include "core/cancel.h"

#include "core/assign.h"
#include "core/bulk.h"
#include "core/find.h"
#include "core/nodes.h"
#include "core/place.h"
#include "core/report.h"
#include "core/transitions.h"

namespace vortex::core {

namespace {

void end_run(Context& cx, RunIx ix, RunEnding why) {
  Run& run = cx.run(ix);
  run.ending = why;
  cx.touch(ix);
  cx.event(EventKind::kRunCancelRequested, {.worker = {}, .task = {}, .run = ix},
           {{"reason", std::string(why == RunEnding::kTimedOut ? "run timeout" : "cancel")}},
           Severity::kWarning);
  begin_sweep(cx, ix);
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
  if (state == TaskState::kQueued) unplace_task(cx, ix);
  cx.event(EventKind::kTaskCancelled, {.worker = {}, .task = ix, .run = {}});
  finish_task(cx, ix, TaskEvent::kCancelled, TaskState::kCancelled);
}

void on_cancel_run(Context& cx, const CancelRun& command) {
  const RunIx ix = cx.state.runs.find(command.run);
  if (!ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.run));
  if (cx.run(ix).ending == RunEnding::kNone) end_run(cx, ix, RunEnding::kCancelled);
  cx.reply(command.request, Done{});
}

void on_run_timer(Context& cx, RunIx ix) {
  if (cx.run(ix).ending == RunEnding::kNone) end_run(cx, ix, RunEnding::kTimedOut);
}

void on_pause_run(Context& cx, const PauseRun& command) {
  const RunIx ix = cx.state.runs.find(command.run);
  if (!ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.run));
  Run& run = cx.run(ix);
  if (run.ending != RunEnding::kNone) return cx.refuse(command.request, RefusalKind::kRunEnding);
  if (run.paused != command.paused) {
    run.paused = command.paused;
    cx.touch(ix);
    cx.event(command.paused ? EventKind::kRunPaused : EventKind::kRunResumed,
             {.worker = {}, .task = {}, .run = ix});
    begin_sweep(cx, ix);
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
  const TaskIx ix = run.tasks[command.task.index];
  if (is_final(cx.task(ix).state())) return cx.refuse(command.request, RefusalKind::kWrongState);
  // A single waiting task ends here; its node is then done and what needs it is decided on.
  cancel_task(cx, ix);
  cx.reply(command.request, Done{});
}

}  // namespace vortex::core
