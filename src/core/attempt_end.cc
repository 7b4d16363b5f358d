#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/transitions.h"

namespace vortex::core {
namespace {

struct Next {
  enum class Kind : std::uint8_t { kCompleted, kCancelled, kDead, kAgain } kind;
  DeathReason reason = DeathReason::kRetriesExhausted;
  Duration delay;
};

void write_attempt(Context& cx, const Task& task, const Grant& grant, const AttemptEnd& end) {
  AttemptRow& row = cx.fx.rows.attempts.emplace_back();
  row.attempt = cx.attempt_of(task);
  row.number = task.counters.attempts;
  row.worker = cx.worker(grant.worker).info->id;
  row.incarnation = cx.worker(grant.worker).incarnation;
  row.granted_at = grant.granted_at;
  const auto* running = std::get_if<Running>(&task.phase);
  row.started_at = running ? running->started : kNever;
  row.ended_at = cx.now;
  row.verdict = end.verdict;
  row.code = end.code;
  row.message = end.message;
}

template <class T>
bool has(const std::vector<T>& list, T wanted) {
  return std::ranges::find(list, wanted) != list.end();
}

bool exit_is_final(const RetryPolicy& policy, const AttemptEnd& end) {
  return end.verdict == Verdict::kExitCode &&
         (has(policy.unless_exit, end.code) ||
          (!policy.only_exit.empty() && !has(policy.only_exit, end.code)));
}

RetryCause cause_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSignal:
      return RetryCause::kSignal;
    case Verdict::kOutOfMemory:
      return RetryCause::kOutOfMemory;
    case Verdict::kCouldNotStart:
      return RetryCause::kCouldNotStart;
    case Verdict::kExecutionTimeout:
      return RetryCause::kTimedOut;
    case Verdict::kStale:
      return RetryCause::kStale;
    default:
      return RetryCause::kFailed;
  }
}

bool cause_is_final(const RetryPolicy& policy, const AttemptEnd& end) {
  if (planted(PlantedBug::kRetryCausesIgnored)) return false;
  return !policy.on.empty() && !has(policy.on, cause_of(end.verdict));
}

// A command that is not there, or may not be run, will not be there for the next try either; who
// expects that (a program that only some workers have) gives the task a retry of its own.
bool start_is_final(const NodeSpec& spec, const AttemptEnd& end) {
  return end.verdict == Verdict::kCouldNotStart && !spec.retry;
}

Next after_failure(Context& cx, Task& task, const AttemptEnd& end) {
  const NodeSpec& spec = cx.spec_of(task);
  const RetryPolicy& retry = retry_policy(cx.state.policy, spec);
  ++task.counters.failures;
  if (exit_is_final(retry, end) || cause_is_final(retry, end) || start_is_final(spec, end)) {
    return {Next::Kind::kDead, DeathReason::kNotRetryable, {}};
  }
  const std::uint32_t allowed =
      retry.max_retries + (planted(PlantedBug::kOneRetryTooMany) ? 1u : 0u);
  if (task.counters.failures > allowed) {
    return {Next::Kind::kDead, DeathReason::kRetriesExhausted, {}};
  }
  return {
      Next::Kind::kAgain, {}, backoff_delay(retry.backoff, task.counters.failures, cx.state.rng)};
}

Next after_stall(Context& cx, Task& task, const AttemptEnd& end) {
  const RetryPolicy& retry = retry_policy(cx.state.policy, cx.spec_of(task));
  ++task.counters.stalls;
  if (cause_is_final(retry, end)) return {Next::Kind::kDead, DeathReason::kNotRetryable, {}};
  if (task.counters.stalls > retry.max_retries) {
    return {Next::Kind::kDead, DeathReason::kStallLimit, {}};
  }
  return {Next::Kind::kAgain, {}, backoff_delay(retry.backoff, task.counters.stalls, cx.state.rng)};
}

Next after_crash(Context& cx, Task& task) {
  ++task.counters.crashes;
  if (task.counters.crashes >= cx.state.policy.crash_limit && !planted(PlantedBug::kNoCrashLimit)) {
    REACHED("core: task quarantined at its crash limit");
    return {Next::Kind::kDead, DeathReason::kCrashLimit, {}};
  }
  return {Next::Kind::kAgain, {}, {}};
}

// So many returns are taken without a wait: work held ahead changes hands like that.
constexpr std::uint32_t kFreeReturns = 3;

Next after_never_started(Context& cx, Task& task) {
  ++task.counters.releases;
  if (++task.counters.unstarted >= cx.state.policy.never_started_limit) {
    REACHED("core: task failed because no worker ever started it");
    return {Next::Kind::kDead, DeathReason::kNeverStarted, {}};
  }
  const Backoff& backoff = retry_policy(cx.state.policy, cx.spec_of(task)).backoff;
  return {Next::Kind::kAgain, {}, backoff_delay(backoff, task.counters.unstarted, cx.state.rng)};
}

Next after_return(Context& cx, Task& task, const AttemptEnd& end) {
  const std::uint32_t releases = ++task.counters.releases;
  if (releases >= cx.state.policy.release_limit) {
    return {Next::Kind::kDead, DeathReason::kReleaseLimit, {}};
  }
  // A recovery does not wait: its worker is gone and cannot do it again at once.
  if (releases <= kFreeReturns || end.recovery.value != 0) return {Next::Kind::kAgain, {}, {}};
  const Backoff& backoff = cx.state.policy.retry.backoff;
  return {Next::Kind::kAgain, {}, backoff_delay(backoff, releases - kFreeReturns, cx.state.rng)};
}

Next decide(Context& cx, Task& task, const AttemptEnd& end) {
  switch (end.blame) {
    case Blame::kNone:
      return {Next::Kind::kCompleted, {}, {}};
    case Blame::kFailure:
      return after_failure(cx, task, end);
    case Blame::kCrash:
      if (planted(PlantedBug::kCrashCountedAsFailure)) return after_failure(cx, task, end);
      return after_crash(cx, task);
    case Blame::kStall:
      return after_stall(cx, task, end);
    case Blame::kNeverStarted:
      return after_never_started(cx, task);
    case Blame::kReturned:
      return after_return(cx, task, end);
    case Blame::kRelease:
      ++task.counters.releases;
      break;
  }
  return {Next::Kind::kAgain, {}, {}};
}

void note_error(Task& task, const AttemptEnd& end) {
  if (end.blame == Blame::kNone) {
    if (task.notes) task.notes->error.clear(), task.notes->exit_code = 0;
    return;
  }
  if (end.message.empty() && !task.notes) return;
  TaskNotes& notes = task.notes_for_writing();
  notes.error = end.message;
  notes.exit_code = end.code;
}

void queue_again(Context& cx, TaskIx ix, WorkerIx last, const AttemptEnd& end, Duration delay) {
  Task& task = cx.task(ix);
  if (!planted(PlantedBug::kRequeueKeepsEpoch)) task.epoch = task.epoch.next();
  if (end.spread > Duration{}) delay += cx.state.rng.between(Duration{}, end.spread);
  Queued queued;
  queued.ready_at = cx.judged + delay;
  queued.recovery = end.recovery;
  queued.last_worker = last;
  queued.keep_away = another_could_take(cx, task, last);
  move_task(cx, ix, TaskEvent::kTakenBack, queued);
  cx.event(EventKind::kTaskRequeued, {.worker = last, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}},
            {"reason", std::string(to_text(end.verdict))},
            {"epoch", static_cast<std::int64_t>(task.epoch.value)},
            {"previous_worker", cx.worker(last).info->id.text}});
  // Its map has stopped: there is no next try to wait for.
  if (cx.node_of(task).stopped) {
    return finish_task(cx, ix, TaskEvent::kSkipped, TaskState::kSkipped);
  }
  place_task(cx, ix, end.blame == Blame::kFailure ? Turn::kBehind : Turn::kInFront);
}

std::string too_often(Context& cx, const Task& task, const AttemptEnd& end, WorkerIx worker) {
  return "released " + std::to_string(task.counters.releases) +
         " times without a result; last by '" + cx.worker(worker).info->id.text + "' (" +
         std::string(to_text(end.verdict)) + ")";
}

void die(Context& cx, TaskIx ix, DeathReason reason, std::string message) {
  Task const& task = cx.task(ix);
  const Attempt attempt = cx.attempt_of(task);
  cx.fx.rows.dead_letters.push_back({attempt, reason, DeadLetterState::kOpen, cx.now, message});
  cx.state.dead_letters[attempt.task] = {attempt.epoch, reason, cx.now, message};
  const auto kind = reason == DeathReason::kCrashLimit ? EventKind::kTaskQuarantined
                                                       : EventKind::kTaskDeadLettered;
  cx.event(kind, {.worker = {}, .task = ix, .run = {}},
           {{"reason", std::string(to_text(reason))}, {"message", std::move(message)}},
           Severity::kError);
  finish_task(cx, ix, TaskEvent::kFailed, TaskState::kFailed);
}

// What ended an attempt that neither its task nor a clock did: the cost of restarts (CONTRACT A08).
const char* disruption(const AttemptEnd& end, const Grant& grant) {
  if (end.verdict == Verdict::kDrained) return "drain";
  if (end.verdict == Verdict::kSelfFenced) return "self_fence";
  if (end.verdict == Verdict::kLostInTransit) return grant.restored ? "controller_restart" : "lost";
  if (end.verdict != Verdict::kWorkerLost || !end.evidence) return nullptr;
  switch (*end.evidence) {
    case Evidence::kExit:
    case Evidence::kNewIncarnation:
      return "worker_restart";
    case Evidence::kGoodbye:
      return "drain";
    case Evidence::kOperator:
      return "operator";
    case Evidence::kReconciler:
      return "controller_restart";
    case Evidence::kHint:
    case Evidence::kSilence:
      break;
  }
  return "worker_silent";
}

void tell_end(Context& cx, TaskIx ix, WorkerIx worker, const AttemptEnd& end) {
  const Context::About about{.worker = worker, .task = ix, .run = {}};
  const auto attempts = std::int64_t{cx.task(ix).counters.attempts};
  if (end.blame == Blame::kNone) {
    return cx.event(EventKind::kTaskComplete, about, {{"attempts", attempts}});
  }
  if (end.blame == Blame::kFailure) {
    return cx.event(EventKind::kTaskFailed, about,
                    {{"attempts", attempts},
                     {"verdict", std::string(to_text(end.verdict))},
                     {"code", std::int64_t{end.code}},
                     {"message", end.message}},
                    Severity::kWarning);
  }
  if (end.blame == Blame::kStall || end.blame == Blame::kNeverStarted) {
    cx.event(EventKind::kTaskTimeout, about,
             {{"attempts", attempts}, {"clock", std::string(to_text(end.verdict))}},
             Severity::kWarning);
  }
}

}  // namespace

bool is_unwanted(Context& cx, const Task& task) {
  if (planted(PlantedBug::kCancelIgnoredAfterRequeue)) return false;
  const Grant* grant = task.grant();
  return (grant != nullptr && grant->stop == StopReason::kCancel) ||
         ending_of(cx.run_of(task), task.node) != RunEnding::kNone;
}

const RetryPolicy& retry_policy(const Policy& policy, const NodeSpec& spec) {
  return spec.retry ? *spec.retry : policy.retry;
}

Duration backoff_delay(const Backoff& backoff, std::uint32_t failures, Rng& rng) {
  const std::int64_t cap = backoff.max_delay.us;
  std::int64_t full = backoff.delay.us;
  if (backoff.kind == BackoffKind::kLinear) {
    // Written as a division so that a long delay times many failures cannot overflow.
    full = full > cap / std::max<std::int64_t>(failures, 1) ? cap : full * failures;
  }
  if (backoff.kind == BackoffKind::kExponential) {
    for (std::uint32_t n = 1; n < failures && full < cap; ++n)
      full = full > cap / 2 ? cap : full * 2;
  }
  full = std::min(full, cap);
  // Divided first for the same reason; below a millisecond the jitter is lost, which nobody sees.
  const std::int64_t jitter = full / 1000 * backoff.jitter_permille;
  return {full - (jitter > 0 ? rng.between(0, jitter) : 0)};
}

void end_attempt(Context& cx, TaskIx ix, const AttemptEnd& original) {
  Task& task = cx.task(ix);
  VX_ASSERT(task.grant() != nullptr);
  const Grant grant = *task.grant();
  const bool unwanted = is_unwanted(cx, task);
  AttemptEnd end = original;
  if (unwanted) end.verdict = Verdict::kCancelled;
  write_attempt(cx, task, grant, end);
  if (original.worker_took_part) judge_worker(cx, grant.worker, task, original);
  note_error(task, end);
  release_slot(cx, ix);
  if (unwanted) {
    cx.event(EventKind::kTaskCancelled, {.worker = grant.worker, .task = ix, .run = {}});
    return finish_task(cx, ix, TaskEvent::kCancelled, TaskState::kCancelled);
  }
  tell_end(cx, ix, grant.worker, end);
  if (const char* cause = disruption(end, grant)) {
    cx.measure(Sample::Kind::kDisruption, cause, {});
  }
  const Next next = decide(cx, task, end);
  switch (next.kind) {
    case Next::Kind::kCompleted:
      return finish_task(cx, ix, TaskEvent::kCompleted, TaskState::kCompleted);
    case Next::Kind::kCancelled:
      return;
    case Next::Kind::kDead:
      if (next.reason == DeathReason::kReleaseLimit) {
        end.message = too_often(cx, task, end, grant.worker);
        task.notes_for_writing().error = end.message;
      }
      return die(cx, ix, next.reason, end.message);
    case Next::Kind::kAgain:
      return queue_again(cx, ix, grant.worker, end, next.delay);
  }
}

void end_child_attempt(Context& cx, TaskIx ix, const AttemptEnd& end) {
  Task& task = cx.task(ix);
  unplace_task(cx, ix);
  note_error(task, end);
  tell_end(cx, ix, WorkerIx::none(), end);
  const Next next = decide(cx, task, end);
  if (next.kind == Next::Kind::kDead) return die(cx, ix, next.reason, end.message);
  task.epoch = task.epoch.next();
  Queued queued;
  queued.ready_at = cx.judged + next.delay;
  move_task(cx, ix, TaskEvent::kTriedAgain, queued);
  cx.event(EventKind::kTaskRequeued, {.worker = {}, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}},
            {"reason", std::string(to_text(end.verdict))},
            {"epoch", static_cast<std::int64_t>(task.epoch.value)}});
  if (cx.node_of(task).stopped) {
    return finish_task(cx, ix, TaskEvent::kSkipped, TaskState::kSkipped);
  }
  place_task(cx, ix, Turn::kBehind);
}

void die_undecided(Context& cx, TaskIx ix, DeathReason reason, std::string message) {
  cx.task(ix).notes_for_writing().error = message;
  die(cx, ix, reason, std::move(message));
}

void die_in_queue(Context& cx, TaskIx ix, DeathReason reason, std::string message) {
  cx.task(ix).notes_for_writing().error = message;
  unplace_task(cx, ix);
  die(cx, ix, reason, std::move(message));
}

}  // namespace vortex::core
