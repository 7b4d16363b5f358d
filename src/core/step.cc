#include "core/step.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/context.h"
#include "core/machine.h"
#include "core/planted_core.h"
#include "core/reconcile.h"

namespace vortex::core {

namespace {

void on_check_attempt(Context& cx, const CheckAttempt& command) {
  const TaskIx ix = find_task(cx.state, command.attempt.task);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownTask);
  const Task& task = cx.task(ix);
  const Grant* grant = task.grant();
  const bool holds = grant != nullptr && task.epoch == command.attempt.epoch &&
                     grant->stop == StopReason::kNone &&
                     ending_of(cx.run_of(task), task.node) == RunEnding::kNone;
  if (!holds) return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  cx.reply(command.request, Done{});
}

void on_own_timer(Context& cx, OwnTimer timer) {
  switch (timer) {
    case OwnTimer::kHealthPass:
      on_health_pass(cx);
      return cx.state.timers.set({TimerKind::kOwn, static_cast<std::uint32_t>(timer)},
                                 cx.judged + cx.state.policy.health_check_interval);
    case OwnTimer::kReconcile:
      return on_reconcile_timer(cx);
    case OwnTimer::kBrake:
      return on_brake_timer(cx);
  }
}

void on_task_timer(Context& cx, TaskIx ix) {
  if (std::holds_alternative<Queued>(cx.task(ix).phase)) return on_queued_timer(cx, ix);
  if (cx.task(ix).grant() != nullptr) on_held_timer(cx, ix);
}

void fire(Context& cx, TimerKey key) {
  switch (key.kind) {
    case TimerKind::kTask:
      return on_task_timer(cx, {key.index});
    case TimerKind::kWorker:
      return on_worker_timer(cx, {key.index});
    case TimerKind::kRun:
      return on_run_timer(cx, {key.index});
    case TimerKind::kLease:
      return on_lease_timer(cx, {key.index});
    case TimerKind::kLimit:
      return on_limit_timer(cx, {key.index});
    case TimerKind::kSchedule:
      return on_schedule_timer(cx, {key.index});
    case TimerKind::kProbation:
      return on_probation_timer(cx, {key.index});
    case TimerKind::kOwn:
      return on_own_timer(cx, static_cast<OwnTimer>(key.index));
  }
}

void on_tick(Context& cx) {
  if (planted(PlantedBug::kDeathAndRequeueApart)) finish_planted_split(cx);
  while (const auto key = cx.state.timers.pop_due(cx.judged)) fire(cx, *key);
  while (const auto key = cx.state.promises.pop_due({cx.now.us})) {
    key->kind == TimerKind::kRun ? on_run_start(cx, {key->index}) : on_wait_due(cx, {key->index});
  }
}

class Handle {
 public:
  explicit Handle(Context& cx) : cx_(cx) {}

  void operator()(const RegisterWorker& c) const { on_register(cx_, c); }
  void operator()(const Sync& c) const { on_sync(cx_, c); }
  void operator()(const ConnectionLost& c) const { on_connection_lost(cx_, c); }
  void operator()(const ProbeResult& c) const { on_probe_result(cx_, c); }
  void operator()(const WorkerExited& c) const { on_worker_exited(cx_, c); }
  void operator()(const Unsent& c) const { on_unsent(cx_, c); }
  void operator()(const DrainWorker& c) const { on_drain_worker(cx_, c); }
  void operator()(const CordonWorker& c) const { on_cordon_worker(cx_, c); }
  void operator()(const ResetWorker& c) const { on_reset_worker(cx_, c); }
  void operator()(const SubmitRun& c) const { on_submit(cx_, c); }
  void operator()(const CancelRun& c) const { on_cancel_run(cx_, c); }
  void operator()(const PauseRun& c) const { on_pause_run(cx_, c); }
  void operator()(const CancelTask& c) const { on_cancel_task(cx_, c); }
  void operator()(const SignalRun& c) const { on_signal_run(cx_, c); }
  void operator()(const AnswerApproval& c) const { on_answer_approval(cx_, c); }
  void operator()(const RetryTask& c) const { on_retry_task(cx_, c); }
  void operator()(const RedriveDeadLetter& c) const { on_redrive(cx_, c); }
  void operator()(const DiscardDeadLetter& c) const { on_discard(cx_, c); }
  void operator()(const PauseQueue& c) const { on_pause_queue(cx_, c); }
  void operator()(const ApplyDag& c) const { on_apply_dag(cx_, c); }
  void operator()(const DeleteDag& c) const { on_delete_dag(cx_, c); }
  void operator()(const PauseSchedule& c) const { on_pause_schedule(cx_, c); }
  void operator()(const TriggerSchedule& c) const { on_trigger_schedule(cx_, c); }
  void operator()(const SetLimit& c) const { on_set_limit(cx_, c); }
  void operator()(const DeleteLimit& c) const { on_delete_limit(cx_, c); }
  void operator()(const AcquireLease& c) const { on_acquire_lease(cx_, c); }
  void operator()(const RenewLease& c) const { on_renew_lease(cx_, c); }
  void operator()(const ReleaseLease& c) const { on_release_lease(cx_, c); }
  void operator()(const CheckLease& c) const { on_check_lease(cx_, c); }
  void operator()(const CheckAttempt& c) const { on_check_attempt(cx_, c); }
  void operator()(const TellLifecycle& c) const { on_tell_lifecycle(cx_, c); }
  void operator()(const RefuseCheckpoint& c) const { on_refuse_checkpoint(cx_, c); }
  void operator()(const KeepCheckpoint& c) const { on_keep_checkpoint(cx_, c); }
  void operator()(const NoteSecrets& c) const { on_note_secrets(cx_, c); }
  void operator()(const StoreHealth& c) const { on_store_health(cx_, c); }
  void operator()(const SelfCheckResult& c) const { on_self_check(cx_, c); }
  void operator()(const ForgetRun& c) const { on_forget_run(cx_, c); }
  void operator()(const DeleteWorker& c) const { on_delete_worker(cx_, c); }
  void operator()(const NoteFindings& c) const { on_note_findings(cx_, c); }
  void operator()(const Tick& c) const {
    cx_.may_make_runs = c.runs;
    on_tick(cx_);
  }

 private:
  Context& cx_;
};

// A new run is shown as its commit makes it, so that nobody has to read it back.
void show_new_runs(Effects& fx) {
  for (Reply& reply : fx.replies) {
    auto* accepted = std::get_if<RunAccepted>(&reply.body);
    if (accepted == nullptr || accepted->existed) continue;
    const auto row = std::ranges::find(fx.rows.runs, accepted->run, &RunRow::id);
    if (row != fx.rows.runs.end()) accepted->row = std::make_shared<const RunRow>(*row);
  }
}

}  // namespace

Instant State::next_wake() const { return bulk.empty() ? next_due() : clock.last_seen(); }

Instant State::next_due() const {
  if (!leftover.empty() || !ready.dirty.empty() || !offering.empty() || groups.any_due()) {
    return clock.last_seen();
  }
  const auto next = timers.next();
  const auto promise = promises.next();
  const Instant at = next ? clock.term_time(*next) : kNever;
  return promise ? std::min(at, Instant{promise->us}) : at;
}

Effects step(State& state, const Command& command, Instant now) {
  const bool was_away = state.clock.advance(now, state.policy.sweep) > Duration{};
  Context cx(state, now);
  if (was_away) {
    REACHED("core: own absence noticed");
    refresh_schedule_timers(cx);
    refresh_limits(cx);
  }
  const bool was_idle = state.bulk.empty();
  std::visit(Handle(cx), command);
  if (cx.fleet_shrank) relax_blame(cx);
  settle_nodes(cx);
  // What begins here has its first slice here, so that a small run is whole at once. Only ticks go
  // on with it: whoever ticks decides how much of it one commit carries.
  const auto* tick = std::get_if<Tick>(&command);
  const bool goes_on = tick != nullptr ? tick->bulk : was_idle;
  if (goes_on && !state.bulk.empty()) advance_bulk(cx);
  settle(cx);
  dispatch(cx);
  settle(cx);
  answer_calls(cx);
  cx.write_rows();
  if (!cx.fx.replies.empty() && !cx.fx.rows.runs.empty()) show_new_runs(cx.fx);
  close_ended_runs(cx);
  if (!state.leftover.empty()) free_leftover(state);
  if (state.workers.any_retired()) release_retired(state);
  return std::move(cx.fx);
}

}  // namespace vortex::core
