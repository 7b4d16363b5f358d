#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/context.h"
#include "core/machine.h"
#include "core/planted_core.h"

namespace vortex::core {

namespace {

bool is_malformed(const SyncRequest& body) {
  if (body.seq == 0 || body.slots > kSlotsMax * (1 + kAheadPerSlotMax) || body.wait < Duration{})
    return true;
  if (!body.held) return false;
  return std::any_of(body.held->begin(), body.held->end(), [](const HeldTask& held) {
    return held.progress && held.progress->percent > 100;
  });
}

std::optional<SyncRefusal::Why> refusal_of(const Worker& worker, const Sync& command) {
  const SyncRequest& body = command.body;
  if (body.incarnation < worker.incarnation) return SyncRefusal::Why::kStaleIncarnation;
  if (body.incarnation > worker.incarnation) return SyncRefusal::Why::kUnknownWorker;
  if (!is_of_session(worker, command.session)) {
    REACHED("core: sync without the session of its life refused");
    return command.session.empty() ? SyncRefusal::Why::kNoSession : SyncRefusal::Why::kWrongSession;
  }
  if (!is_present(worker.state)) return SyncRefusal::Why::kSessionEnded;
  if (body.seq <= worker.last_seq) return SyncRefusal::Why::kOldMessage;
  return std::nullopt;
}

void refuse_sync(Context& cx, RequestId request, SyncRefusal::Why why, Incarnation current) {
  cx.reply(request, SyncRefusal{why, current});
}

void show_progress(Context& cx, TaskIx ix, const Progress& progress) {
  Task& task = cx.task(ix);
  auto* running = std::get_if<Running>(&task.phase);
  if (running == nullptr) return;
  const bool same_step = task.notes ? task.notes->step == progress.step : progress.step.empty();
  if (running->watched && running->percent == progress.percent && same_step) return;
  running->percent = progress.percent;
  if (cx.spec_of(task).stale_counts.progress) {
    running->watched = true;
    running->progress_at = cx.judged;
  }
  if (!same_step) task.notes_for_writing().step = progress.step;
  cx.touch(ix);
  watch_running(cx, ix);
}

void show_output(Context& cx, TaskIx ix, std::uint64_t bytes) {
  auto* running = std::get_if<Running>(&cx.task(ix).phase);
  if (running == nullptr || bytes == running->output_bytes) return;
  if (!cx.spec_of(cx.task(ix)).stale_counts.output) return;
  running->output_bytes = bytes;
  running->watched = true;
  running->progress_at = cx.judged;
  watch_running(cx, ix);
}

void name(Grant& grant) {
  grant.listed = true;
  grant.acked = true;
}

// Marks what the worker names; what it names and does not hold is stale.
void read_held(Context& cx, WorkerIx ix, const std::vector<HeldTask>& held) {
  Worker& worker = cx.worker(ix);
  for (const HeldTask& item : held) {
    const TaskIx task = find_attempt(cx, item.attempt, ix);
    if (!task.valid()) {
      if (planted(PlantedBug::kHeartbeatRenewsUnheld) && adopt_unheld(cx, item.attempt, ix))
        continue;
      worker.stale_to_tell.push_back(item.attempt);
      continue;
    }
    name(*cx.task(task).grant());
    if (item.progress) show_progress(cx, task, *item.progress);
    if (item.output_bytes) show_output(cx, task, *item.output_bytes);
  }
}

// The worker has acted on a reply that carried the assignment, or has started it, and yet does not
// name it: it was lost on the way. What was not carried yet is simply sent again.
bool is_lost(const Worker& worker, const Task& task, const SyncRequest& body, Term term) {
  const Grant& grant = *task.grant();
  if (grant.listed) return false;
  // A call from before this leader's first answer may be an old one, late: it proves nothing.
  if (body.ack.term != term) return false;
  if (std::holds_alternative<Running>(task.phase)) return true;
  return grant.sent_in != 0 && body.ack.reply >= grant.sent_in &&
         body.ack.reply <= worker.last_reply;
}

void release_lost(Context& cx, WorkerIx ix, const SyncRequest& body) {
  std::vector<TaskIx> lost;
  for (TaskIx t = cx.worker(ix).held.head; t.valid(); t = cx.task(t).links.next) {
    if (is_lost(cx.worker(ix), cx.task(t), body, cx.state.term)) lost.push_back(t);
    cx.task(t).grant()->listed = false;
  }
  for (const TaskIx t : lost) {
    // Gone after we asked for its end: that is the answer, though nobody gave it.
    const bool asked = cx.task(t).grant()->stop != StopReason::kNone;
    if (asked && !planted(PlantedBug::kDropAfterStopUncounted)) {
      REACHED("core: worker dropped an attempt that it was told to stop");
      end_stopped(cx, t);
      continue;
    }
    REACHED("core: assignment lost on the way was released");
    AttemptEnd end;
    end.verdict = Verdict::kLostInTransit;
    end.blame = Blame::kReturned;
    end.message = "the worker does not know this attempt";
    end_attempt(cx, t, end);
  }
}

void name_reported(Context& cx, WorkerIx ix, const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    const TaskIx task = find_attempt(cx, report.attempt, ix);
    if (task.valid()) name(*cx.task(task).grant());
  }
}

// Something the worker, by what it has acknowledged, cannot know yet. One that leaves by itself
// need not be told, unless an operator gave it less time.
bool owes_word(Context& cx, const Worker& worker, const SyncRequest& body) {
  const std::uint64_t known = body.ack.term == cx.state.term ? body.ack.reply : 0;
  const bool drains = worker.state == WorkerState::kDraining &&
                      (body.leaving == Leaving::kNo || worker.drain_within);
  if (drains && (worker.drain_sent_in == 0 || known < worker.drain_sent_in)) return true;
  for (TaskIx t = worker.held.head; t.valid(); t = cx.task(t).links.next) {
    const Grant& grant = *cx.task(t).grant();
    const bool stopping = grant.stop != StopReason::kNone;
    if (stopping && (grant.stop_sent_in == 0 || known < grant.stop_sent_in)) return true;
    if (!stopping && !grant.acked) return true;
  }
  return !worker.stale_to_tell.empty();
}

void begin_answer(Context& cx, WorkerIx ix, const Sync& command) {
  Worker& worker = cx.worker(ix);
  const SyncRequest& body = command.body;
  const Duration wait = std::min(body.wait, cx.state.policy.heartbeat_interval);
  // Only one call waits at a time; an earlier one is let go.
  if (wait > Duration{} && worker.parked) {
    cx.reply(worker.parked->request,
             SyncRefusal{SyncRefusal::Why::kOldMessage, worker.incarnation});
    worker.parked.reset();
  }
  worker.answering = ParkedSync{command.request, body.seq, cx.judged + wait};
  // A report wants to be acknowledged, not to wait.
  if (wait == Duration{} || !body.reports.empty() || owes_word(cx, worker, body)) {
    worker.has_news = true;
  }
  cx.calling.push_back(ix);
}

void apply_leaving(Context& cx, WorkerIx ix, Leaving leaving) {
  if (leaving == Leaving::kGone) leave_on_purpose(cx, ix);
}

Assignment make_assignment(Context& cx, const Task& task) {
  Assignment out;
  out.attempt = cx.attempt_of(task);
  out.number = task.counters.attempts;
  const Run& run = cx.run_of(task);
  PlannedWork work{run.plan, task.node, run.request};
  if (is_last(run, task.node)) work.run_result = result_of(run);
  out.work = std::move(work);
  out.execution_timeout =
      cx.spec_of(task).execution_timeout.value_or(cx.state.policy.execution_timeout);
  if (task.notes) {
    out.checkpoint = task.notes->checkpoint;
    out.uploaded = task.notes->uploaded;
  }
  out.kill_grace = cx.state.policy.kill_time;
  return out;
}

StopOrder::Why stop_order(StopReason reason) {
  switch (reason) {
    case StopReason::kStale:
      return StopOrder::Why::kStale;
    case StopReason::kExecutionTimeout:
      return StopOrder::Why::kExecutionTimeout;
    case StopReason::kNotStarted:
      return StopOrder::Why::kNotStartedInTime;
    case StopReason::kNone:
    case StopReason::kCancel:
      break;
  }
  return StopOrder::Why::kCancelled;
}

SyncReply make_reply(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  SyncReply out;
  out.mark = {cx.state.term, ++worker.last_reply};
  out.seq_seen = worker.last_seq;
  out.lease = cx.state.policy.worker_lease;
  for (TaskIx t = worker.held.head; t.valid(); t = cx.task(t).links.next) {
    Task& task = cx.task(t);
    Grant& grant = *task.grant();
    if (grant.stop != StopReason::kNone) {
      out.stops.push_back({cx.attempt_of(task), stop_order(grant.stop)});
      if (grant.stop_sent_in == 0) grant.stop_sent_in = worker.last_reply;
    } else if (!grant.acked) {
      out.assignments.push_back(make_assignment(cx, task));
      if (grant.sent_in == 0) grant.sent_in = worker.last_reply;
    }
  }
  out.stale = std::exchange(worker.stale_to_tell, {});
  out.drain = worker.state == WorkerState::kDraining;
  if (out.drain) {
    out.drain_within = worker.drain_within;
    if (worker.drain_sent_in == 0) worker.drain_sent_in = worker.last_reply;
  }
  return out;
}

void answer(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  const bool news = std::exchange(worker.has_news, false);
  const auto call = std::exchange(worker.answering, std::nullopt);
  if (call && news) {
    cx.reply(call->request, make_reply(cx, ix));
  } else if (call) {
    worker.parked = call;
    refresh_worker_timer(cx, ix);
  } else if (news && worker.parked) {
    cx.reply(worker.parked->request, make_reply(cx, ix));
    worker.parked.reset();
    refresh_worker_timer(cx, ix);
  }
  refresh_offer(cx, ix);
}

}  // namespace

void on_sync(Context& cx, const Sync& command) {
  const SyncRequest& body = command.body;
  if (is_malformed(body)) return refuse_sync(cx, command.request, SyncRefusal::Why::kMalformed, {});
  const WorkerIx ix = cx.state.workers.find(body.worker);
  if (!ix.valid()) return refuse_sync(cx, command.request, SyncRefusal::Why::kUnknownWorker, {});
  Worker& worker = cx.worker(ix);
  if (const auto why = refusal_of(worker, command)) {
    return refuse_sync(cx, command.request, *why, worker.incarnation);
  }
  worker.last_seq = body.seq;
  worker.slots = std::min(body.slots, worker.info->slots * (1 + kAheadPerSlotMax));
  hear_worker(cx, ix, body.worker_clock);
  if (body.held) {
    if (planted(PlantedBug::kRecoveryFromStaleRead)) remember_stale_read(cx, ix, *body.held);
    read_held(cx, ix, *body.held);
    name_reported(cx, ix, body.reports);
    release_lost(cx, ix, body);
  }
  // Before its reports: what a worker that leaves gives back is not held against the task.
  if (body.leaving == Leaving::kDraining) begin_drain(cx, ix);
  for (const Report& report : body.reports) apply_report(cx, ix, report);
  begin_answer(cx, ix, command);
  apply_leaving(cx, ix, body.leaving);
  update_offer(cx, ix);
}

void on_unsent(Context& cx, const Unsent& command) {
  cx.reply(command.request, Done{});
  const WorkerIx ix = cx.state.workers.find(command.worker);
  if (!ix.valid()) return;
  for (const Unsent::Unresolved& one : command.unresolved) {
    const TaskIx task = find_attempt(cx, one.attempt, ix);
    if (!task.valid()) continue;
    AttemptEnd end;
    end.verdict = Verdict::kCouldNotStart;
    end.blame = Blame::kFailure;
    end.message = one.message;
    end.worker_took_part = false;
    end_attempt(cx, task, end);
  }
  for (const Attempt& attempt : command.left_out) {
    const TaskIx task = find_attempt(cx, attempt, ix);
    if (!task.valid() || command.mark.term != cx.state.term) continue;
    // An earlier answer may have carried it, or a later one that was made meanwhile: then the
    // worker must name it, as ever.
    Grant& grant = *cx.task(task).grant();
    if (grant.sent_in != command.mark.reply || grant.acked) continue;
    const bool last = cx.worker(ix).last_reply == command.mark.reply;
    grant.sent_in = last ? 0 : command.mark.reply + 1;
  }
  update_offer(cx, ix);
}

void on_note_secrets(Context& cx, const NoteSecrets& command) {
  const WorkerIx worker = cx.state.workers.find(command.worker);
  for (const NoteSecrets::Use& use : command.uses) {
    if (worker.valid() && find_attempt(cx, use.attempt, worker).valid()) continue;
    return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  }
  for (const NoteSecrets::Use& use : command.uses) {
    cx.event(EventKind::kSecretUsed,
             {.worker = worker, .task = find_attempt(cx, use.attempt, worker), .run = {}},
             {{"secret", use.secret},
              {"version", std::int64_t{use.version}},
              {"as", use.as},
              {"epoch", static_cast<std::int64_t>(use.attempt.epoch.value)}});
  }
  for (const NoteSecrets::Change& change : command.changes) {
    cx.event(EventKind::kSecretChanged, {},
             {{"secret", change.secret},
              {"what", change.what},
              {"version", std::int64_t{change.version}},
              {"by", change.by}});
  }
  cx.reply(command.request, Done{});
}

void answer_calls(Context& cx) {
  for (std::size_t i = 0; i < cx.calling.size(); ++i) answer(cx, cx.calling[i]);
  cx.calling.clear();
}

void on_park_expired(Context& cx, WorkerIx ix) { tell_news(cx, ix); }

void end_session(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  const SyncRefusal over{SyncRefusal::Why::kSessionEnded, worker.incarnation};
  if (worker.parked) cx.reply(worker.parked->request, over);
  if (worker.answering) cx.reply(worker.answering->request, over);
  worker.parked.reset();
  worker.answering.reset();
  worker.has_news = false;
  worker.stale_to_tell.clear();
  update_offer(cx, ix);
}

}  // namespace vortex::core
