#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/context.h"
#include "core/machine.h"
#include "core/transitions.h"

namespace vortex::core {

void start_attempt(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  const auto* scheduled = std::get_if<Scheduled>(&task.phase);
  if (scheduled == nullptr) return;
  Running running;
  running.grant = scheduled->grant;
  running.grant.acked = true;
  running.started = cx.now;
  running.started_at = cx.judged;
  running.progress_at = cx.judged;
  // Whoever asks for a watchdog is watched from the start; else only once it has shown progress,
  // because silence of a program that never speaks says nothing.
  running.watched = cx.spec_of(task).stale_after.has_value() || cx.state.policy.stale_for_all;
  // What an earlier attempt said of itself is not progress of this one.
  if (task.notes) task.notes->step.clear();
  move_task(cx, ix, TaskEvent::kStarted, running);
  cx.event(EventKind::kTaskStarted, {.worker = running.grant.worker, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}}});
  watch_running(cx, ix);
}

namespace {

AttemptEnd ended(Verdict verdict, Blame blame, std::int32_t code = 0, std::string message = {}) {
  AttemptEnd end;
  end.verdict = verdict;
  end.blame = blame;
  end.code = code;
  end.message = std::move(message);
  return end;
}

AttemptEnd from_failure(const Failed& failed) {
  const Verdict verdict = [&] {
    switch (failed.cause) {
      case Failed::Cause::kSignal:
        return Verdict::kSignal;
      case Failed::Cause::kOutOfMemory:
        return Verdict::kOutOfMemory;
      case Failed::Cause::kCouldNotStart:
        return Verdict::kCouldNotStart;
      case Failed::Cause::kExitCode:
        break;
    }
    return Verdict::kExitCode;
  }();
  return ended(verdict, Blame::kFailure, failed.code, failed.message);
}

std::string in_seconds(Duration d) {
  if (d.us % seconds(1).us != 0) return std::to_string(d.us / millis(1).us) + " ms";
  return std::to_string(d.us / seconds(1).us) + " s";
}

Duration run_limit(Context& cx, const Task& task) {
  return cx.spec_of(task).execution_timeout.value_or(cx.state.policy.execution_timeout);
}

Duration stale_limit(Context& cx, const Task& task) {
  return cx.spec_of(task).stale_after.value_or(cx.state.policy.stale_after);
}

const char* clock_name(StopReason why) {
  if (why == StopReason::kStale) return "stale";
  return why == StopReason::kNotStarted ? "not_started" : "execution";
}

AttemptEnd from_stop(Context& cx, const Task& task, StopReason stop) {
  switch (stop) {
    case StopReason::kStale:
      return ended(Verdict::kStale, Blame::kStall, 0,
                   "timed out: no progress for " + in_seconds(stale_limit(cx, task)));
    case StopReason::kExecutionTimeout:
      return ended(Verdict::kExecutionTimeout, Blame::kStall, 0,
                   "timed out: ran longer than " + in_seconds(run_limit(cx, task)));
    case StopReason::kNotStarted:
      return ended(Verdict::kNotStartedInTime, Blame::kNeverStarted, 0,
                   "timed out: worker '" + cx.worker(task.grant()->worker).info->id.text +
                       "' did not start it within " + in_seconds(scheduled_timeout(cx, task)) +
                       " (scheduled_timeout)");
    case StopReason::kCancel:
      return ended(Verdict::kCancelled, Blame::kRelease, 0, "cancelled");
    case StopReason::kNone:
      break;
  }
  return ended(Verdict::kDrained, Blame::kReturned, 0, "released by the worker");
}

class Apply {
 public:
  Apply(Context& cx, TaskIx ix) : cx_(cx), ix_(ix) {}

  void operator()(const Started&) const { start_attempt(cx_, ix_); }

  void operator()(const Checkpoint& checkpoint) const { take_checkpoint(cx_, ix_, checkpoint); }

  void operator()(const Completed& completed) const {
    start_attempt(cx_, ix_);
    const std::size_t limit = cx_.state.policy.outputs_bytes_max;
    if (completed.outputs.size() > limit) {
      return end_attempt(
          cx_, ix_,
          ended(Verdict::kExitCode, Blame::kFailure, 0,
                "outputs of " + std::to_string(completed.outputs.size()) + " bytes, more than " +
                    std::to_string(limit) + " (controller.outputs_max_kib)"));
    }
    const Task& task = cx_.task(ix_);
    forget_checkpoint(cx_, ix_);
    if (!completed.outputs.empty() && !is_unwanted(cx_, task)) {
      cx_.fx.rows.task_data.push_back(
          {.id = cx_.id_of(task), .epoch = task.epoch, .outputs = completed.outputs});
      read_outputs(cx_.state, cx_.run_of(task), task.node, completed.outputs);
    }
    end_attempt(cx_, ix_, ended(Verdict::kCompleted, Blame::kNone));
  }

  void operator()(const Failed& failed) const {
    if (failed.cause != Failed::Cause::kCouldNotStart) start_attempt(cx_, ix_);
    end_attempt(cx_, ix_, from_failure(failed));
  }

  // Whatever it calls it: an attempt that is gone after we asked for its end is stopped, and
  // counts as the reason for asking says.
  void operator()(const Released& released) const {
    const Grant& grant = *cx_.task(ix_).grant();
    if (released.cause == Released::Cause::kStopped || grant.stop != StopReason::kNone) {
      return end_stopped(cx_, ix_);
    }
    if (released.cause == Released::Cause::kNotStarted) {
      return end_attempt(cx_, ix_,
                         ended(Verdict::kGivenBack, Blame::kReturned, 0, released.message));
    }
    if (released.cause == Released::Cause::kSelfFenced) {
      return end_attempt(cx_, ix_,
                         ended(Verdict::kSelfFenced, Blame::kReturned, 0, released.message));
    }
    const bool leaves = cx_.worker(grant.worker).state == WorkerState::kDraining;
    Blame blame = leaves ? Blame::kRelease : Blame::kReturned;
    if (planted(PlantedBug::kDrainCountedAsCrash)) blame = Blame::kCrash;
    end_attempt(cx_, ix_, ended(Verdict::kDrained, blame, 0, released.message));
  }

  void operator()(const TimedOut&) const {
    start_attempt(cx_, ix_);
    const Task& task = cx_.task(ix_);
    const Instant deadline = std::get<Running>(task.phase).started + run_limit(cx_, task);
    cx_.measure(Sample::Kind::kTimeoutLateness, clock_name(StopReason::kExecutionTimeout),
                std::max(cx_.now - deadline, Duration{}));
    end_attempt(cx_, ix_, from_stop(cx_, task, StopReason::kExecutionTimeout));
  }

 private:
  Context& cx_;
  TaskIx ix_;
};

bool is_result(const ReportBody& body) {
  return std::holds_alternative<Completed>(body) || std::holds_alternative<Failed>(body);
}

// A repeat of the result that ended this very epoch: known, not stale.
bool already_counted(Context& cx, const Attempt& attempt) {
  const TaskIx ix = find_task(cx.state, attempt.task);
  return ix.valid() && is_final(cx.task(ix).state()) && cx.task(ix).epoch == attempt.epoch;
}

void refuse_stale(Context& cx, WorkerIx worker, const Report& report) {
  if (already_counted(cx, report.attempt)) return;
  REACHED("core: stale report refused");
  cx.worker(worker).stale_to_tell.push_back(report.attempt);
  if (!is_result(report.body)) return;
  const TaskIx ix = find_task(cx.state, report.attempt.task);
  cx.event(EventKind::kStaleResultRefused, {.worker = worker, .task = ix, .run = {}},
           {{"epoch", static_cast<std::int64_t>(report.attempt.epoch.value)}}, Severity::kWarning);
}

TaskIx find_for_report(Context& cx, const Attempt& attempt, WorkerIx worker) {
  if (planted(PlantedBug::kResultWithoutEpochCheck)) {
    const TaskIx ix = find_task(cx.state, attempt.task);
    return ix.valid() && cx.task(ix).grant() != nullptr ? ix : TaskIx::none();
  }
  return find_attempt(cx, attempt, worker);
}

}  // namespace

void apply_report(Context& cx, WorkerIx worker, const Report& report) {
  const TaskIx ix = find_for_report(cx, report.attempt, worker);
  if (!ix.valid()) return refuse_stale(cx, worker, report);
  std::visit(Apply(cx, ix), report.body);
}

void note_started(Context& cx, WorkerIx worker, const Attempt& attempt) {
  const TaskIx ix = find_attempt(cx, attempt, worker);
  if (ix.valid()) start_attempt(cx, ix);
}

void watch_running(Context& cx, TaskIx ix) {
  const Task& task = cx.task(ix);
  const auto& running = std::get<Running>(task.phase);
  const Policy& policy = cx.state.policy;
  if (running.grant.stop != StopReason::kNone) {
    return cx.state.timers.set({TimerKind::kTask, ix.value}, running.grant.stop_deadline);
  }
  // The worker ends it by its own clock; ours only steps in when that did not happen.
  Judged at =
      running.started_at + run_limit(cx, task) + policy.kill_time + policy.heartbeat_interval * 2;
  if (running.watched) at = std::min(at, running.progress_at + stale_limit(cx, task));
  cx.state.timers.set({TimerKind::kTask, ix.value}, at);
}

namespace {

// A clock of the task ran out: how long ago, by true time, for the metrics.
void act_on_timeout(Context& cx, TaskIx ix, StopReason why, Instant deadline) {
  cx.measure(Sample::Kind::kTimeoutLateness, clock_name(why),
             std::max(cx.now - deadline, Duration{}));
  request_stop(cx, ix, why);
}

}  // namespace

void end_stopped(Context& cx, TaskIx ix) {
  const Task& task = cx.task(ix);
  end_attempt(cx, ix, from_stop(cx, task, task.grant()->stop));
}

void on_held_timer(Context& cx, TaskIx ix) {
  const Task& task = cx.task(ix);
  const Grant& grant = *task.grant();
  if (grant.stop != StopReason::kNone) {
    // Neither confirmed nor fenced by itself within a full lease, so nothing of it can run any
    // more unless its host was paused; the epoch guards against that.
    if (cx.judged < grant.stop_deadline) {
      return cx.state.timers.set({TimerKind::kTask, ix.value}, grant.stop_deadline);
    }
    REACHED("core: stop taken as done after a full lease");
    return end_stopped(cx, ix);
  }
  const auto* running = std::get_if<Running>(&task.phase);
  if (running == nullptr) {
    if (planted(PlantedBug::kScheduledTimeoutBelowLease)) {
      return end_attempt(cx, ix, from_stop(cx, task, StopReason::kNotStarted));
    }
    REACHED("core: scheduled task asked back because it was not started");
    return act_on_timeout(cx, ix, StopReason::kNotStarted,
                          grant.granted_at + scheduled_timeout(cx, task));
  }
  const Judged stale_at = running->progress_at + stale_limit(cx, task);
  if (running->watched && cx.judged >= stale_at) {
    REACHED("core: stale task asked to stop");
    return act_on_timeout(cx, ix, StopReason::kStale, cx.state.clock.term_time(stale_at));
  }
  const Judged last = running->started_at + run_limit(cx, task) + cx.state.policy.kill_time +
                      cx.state.policy.heartbeat_interval * 2;
  if (cx.judged >= last) {
    return act_on_timeout(cx, ix, StopReason::kExecutionTimeout,
                          running->started + run_limit(cx, task));
  }
  watch_running(cx, ix);
}

namespace {

struct Refused {
  std::string reason;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_max = 0;
};

void tell_refused(Context& cx, TaskIx ix, const Refused& refused) {
  cx.event(EventKind::kCheckpointRefused, {.worker = {}, .task = ix, .run = {}},
           {{"reason", refused.reason},
            {"bytes", static_cast<std::int64_t>(refused.bytes)},
            {"bytes_max", static_cast<std::int64_t>(refused.bytes_max)}},
           Severity::kWarning);
}

void moved(Context& cx, TaskIx ix) {
  start_attempt(cx, ix);
  Task& task = cx.task(ix);
  if (!cx.spec_of(task).stale_counts.progress) return;
  std::get<Running>(task.phase).progress_at = cx.judged;
}

// The task, if that life of the worker holds exactly this attempt at it; refused otherwise.
TaskIx claimed(Context& cx, RequestId request, const CheckpointClaim& by) {
  const WorkerIx ix = cx.state.workers.find(by.worker);
  const bool lives =
      ix.valid() && cx.worker(ix).incarnation == by.incarnation && is_present(cx.worker(ix).state);
  if (lives && !is_of_session(cx.worker(ix), by.session)) {
    refuse_session(cx, request, by.session);
    return TaskIx::none();
  }
  const TaskIx task = lives ? find_attempt(cx, by.attempt, ix) : TaskIx::none();
  if (!task.valid()) cx.refuse(request, RefusalKind::kLeaseNotHeld);
  return task;
}

}  // namespace

void take_checkpoint(Context& cx, TaskIx ix, const Checkpoint& checkpoint) {
  if (checkpoint.data.empty()) return;
  const std::uint64_t bytes_max = cx.state.policy.checkpoint_bytes_max;
  if (checkpoint.data.size() > bytes_max) {
    return tell_refused(cx, ix, {"too large", checkpoint.data.size(), bytes_max});
  }
  moved(cx, ix);
  Task& task = cx.task(ix);
  TaskNotes& notes = task.notes_for_writing();
  TaskDataRow& row = cx.fx.rows.task_data.emplace_back();
  row.id = cx.id_of(task);
  row.epoch = task.epoch;
  row.checkpoint = checkpoint.data;
  if (std::exchange(notes.uploaded, {}).number != 0) row.uploaded = CheckpointRef{};
  notes.checkpoint = checkpoint.data;
}

void forget_checkpoint(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  if (!task.notes || std::exchange(task.notes->uploaded, {}).number == 0) return;
  cx.fx.rows.task_data.push_back(
      {.id = cx.id_of(task), .epoch = task.epoch, .uploaded = CheckpointRef{}});
}

void on_refuse_checkpoint(Context& cx, const RefuseCheckpoint& command) {
  const TaskIx ix = claimed(cx, command.request, command.by);
  if (!ix.valid()) return;
  tell_refused(cx, ix, {command.reason, command.bytes, cx.state.policy.upload_bytes_max});
  cx.reply(command.request, Done{});
}

void on_keep_checkpoint(Context& cx, const KeepCheckpoint& command) {
  const TaskIx ix = claimed(cx, command.request, command.by);
  if (!ix.valid()) return;
  if (command.uploaded.bytes > cx.state.policy.upload_bytes_max) {
    return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  }
  moved(cx, ix);
  Task& task = cx.task(ix);
  TaskNotes& notes = task.notes_for_writing();
  notes.uploaded = command.uploaded;
  notes.checkpoint.clear();
  TaskDataRow& row = cx.fx.rows.task_data.emplace_back();
  row.id = cx.id_of(task);
  row.epoch = task.epoch;
  row.checkpoint = "";
  row.uploaded = command.uploaded;
  cx.reply(command.request, Done{});
}

}  // namespace vortex::core
