#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/planted_core.h"
#include "core/transitions.h"

namespace vortex::core {

namespace {

// Crashes are blamed on tasks only where the worker died of its own and alone.
bool blames(const Context& cx, Evidence evidence) {
  if (!std::holds_alternative<BrakeOff>(cx.state.brake) && !is_proof(evidence)) return false;
  return evidence == Evidence::kExit || evidence == Evidence::kNewIncarnation ||
         evidence == Evidence::kHint || evidence == Evidence::kSilence;
}

std::vector<TaskIx> tasks_to_take(Context& cx, WorkerIx ix, Evidence evidence) {
  std::vector<TaskIx> out;
  for (TaskIx t = cx.worker(ix).held.head; t.valid(); t = cx.task(t).links.next) {
    const bool spared = evidence == Evidence::kHint && cx.spec_of(cx.task(t)).exclusive;
    if (spared) REACHED("core: exclusive task spared by a hint");
    if (!spared) out.push_back(t);
  }
  return out;
}

void write_item(Context& cx, const Task& task, RecoveryId recovery, WorkerIx worker) {
  RecoveryItemRow& row = cx.fx.rows.recovery_items.emplace_back();
  row.recovery = recovery;
  row.task = cx.id_of(task);
  row.old_epoch = task.epoch;
  row.new_epoch = task.epoch.next();
  row.old_worker = cx.worker(worker).info->id;
  row.attempts = task.counters.attempts;
}

// When very many come back at once they become ready over a while, not in one burst.
Duration spread_for(const Policy& policy, std::size_t tasks) {
  if (tasks <= policy.spread_from_tasks) return {};
  return std::min(millis(static_cast<std::int64_t>(tasks)), seconds(2));
}

void take_back(Context& cx, WorkerIx ix, RecoveryId recovery, Evidence evidence,
               const std::vector<TaskIx>& tasks) {
  const Duration spread = spread_for(cx.state.policy, tasks.size());
  const bool blame = blames(cx, evidence);
  cx.reclaiming = true;
  for (const TaskIx t : tasks) {
    const Task& task = cx.task(t);
    if (!planted(PlantedBug::kLostLedgerRow) || task.index % 2 == 0) {
      write_item(cx, task, recovery, ix);
    }
    const bool started = std::holds_alternative<Running>(task.phase);
    AttemptEnd end;
    end.verdict = Verdict::kWorkerLost;
    end.blame = blame ? (started ? Blame::kCrash : Blame::kReturned) : Blame::kRelease;
    end.message = "worker '" + cx.worker(ix).info->id.text +
                  "' was lost (evidence: " + std::string(to_text(evidence)) + ")";
    end.recovery = recovery;
    end.evidence = evidence;
    end.spread = spread;
    end_attempt(cx, t, end);
  }
  cx.reclaiming = false;
}

RecoveryId write_recovery(Context& cx, WorkerIx ix, Evidence evidence, std::size_t tasks) {
  const RecoveryId id = cx.state.counters.next_recovery;
  cx.state.counters.next_recovery = id.next();
  cx.touch_counters();
  RecoveryRow& row = cx.fx.rows.recoveries.emplace_back();
  row.id = id;
  row.worker = cx.worker(ix).info->id;
  row.incarnation = cx.worker(ix).incarnation;
  row.evidence = evidence;
  row.num_tasks = static_cast<std::uint32_t>(tasks);
  row.at = cx.now;
  return id;
}

EventKind event_for(Evidence evidence) {
  if (evidence == Evidence::kExit) return EventKind::kWorkerCrash;
  if (evidence == Evidence::kSilence) return EventKind::kHeartbeatStale;
  return EventKind::kWorkerExit;
}

void end_life(Context& cx, WorkerIx ix, Evidence evidence) {
  Worker& worker = cx.worker(ix);
  end_session(cx, ix);
  worker.lost_pending = false;
  worker.trust = Trusted{};
  const bool goodbye = evidence == Evidence::kGoodbye;
  count_loss(cx, ix, evidence);
  if (!goodbye) measure_gap(cx, worker, "offline");
  set_worker_state(cx, ix, goodbye ? WorkerState::kInactive : WorkerState::kOffline);
  cx.state.timers.clear({TimerKind::kWorker, ix.value});
  if (goodbye) return;
  ++cx.state.pass_marked;
  cx.state.pass_machines.insert(worker.info->machine);
}

// Only part of its work was taken: it is suspect, not gone.
void tell_part(Context& cx, WorkerIx ix, Evidence evidence, std::size_t tasks) {
  cx.event(EventKind::kHeartbeatStale, {.worker = ix, .task = {}, .run = {}},
           {{"evidence", std::string(to_text(evidence))},
            {"tasks_requeued", static_cast<std::int64_t>(tasks)}},
           Severity::kWarning);
}

void tell_loss(Context& cx, WorkerIx ix, Evidence evidence, std::size_t tasks) {
  const Context::About about{.worker = ix, .task = {}, .run = {}};
  const auto severity = evidence == Evidence::kGoodbye ? Severity::kInfo : Severity::kWarning;
  const bool is_known = evidence == Evidence::kExit || evidence == Evidence::kGoodbye;
  tell_end(cx, {ix, event_for(evidence), severity, is_known},
           {{"evidence", std::string(to_text(evidence))}});
  cx.event(evidence == Evidence::kGoodbye ? EventKind::kWorkerInactive : EventKind::kWorkerOffline,
           about, {{"tasks_requeued", static_cast<std::int64_t>(tasks)}}, severity);
}

}  // namespace

void lose_worker(Context& cx, WorkerIx ix, Evidence evidence) {
  if (planted(PlantedBug::kDeathAndRequeueApart) && evidence == Evidence::kSilence) {
    set_worker_state(cx, ix, WorkerState::kOffline);
    split_planted_loss(cx, ix);
    return;
  }
  const std::vector<TaskIx> tasks = tasks_to_take(cx, ix, evidence);
  const bool all = tasks.size() == cx.worker(ix).held.size;
  if (tasks.empty() && !all) return;  // only exclusive tasks: a hint takes nothing
  if (!is_proof(evidence)) note_weak_loss(cx, ix);
  const RecoveryId recovery = write_recovery(cx, ix, evidence, tasks.size());
  if (all) {
    tell_loss(cx, ix, evidence, tasks.size());
    // Off the offers first, or its own tasks could be handed straight back to it.
    end_life(cx, ix, evidence);
  } else {
    tell_part(cx, ix, evidence, tasks.size());
  }
  take_back(cx, ix, recovery, evidence, tasks);
  if (planted(PlantedBug::kRecoveryFromStaleRead)) recover_from_stale_read(cx, ix);
  if (planted(PlantedBug::kSlotLeakedAtReclaim) && !tasks.empty()) cx.worker(ix).planted.leak();
}

void begin_drain(Context& cx, WorkerIx ix) {
  if (cx.worker(ix).state == WorkerState::kDraining) return;
  set_worker_state(cx, ix, WorkerState::kDraining);
  cx.event(EventKind::kWorkerDraining, {.worker = ix, .task = {}, .run = {}});
  update_offer(cx, ix);
}

void leave_on_purpose(Context& cx, WorkerIx ix) {
  if (!is_present(cx.worker(ix).state)) return;
  release_leases_of(cx, AgentId(cx.worker(ix).info->id.text));
  if (!cx.worker(ix).held.empty()) {
    REACHED("core: worker left with work still assigned");
    return lose_worker(cx, ix, Evidence::kGoodbye);
  }
  // Its last word is answered as usual; a session that ended cleanly is no refusal.
  Worker& worker = cx.worker(ix);
  if (worker.parked) {
    cx.reply(worker.parked->request,
             SyncRefusal{SyncRefusal::Why::kOldMessage, worker.incarnation});
    worker.parked.reset();
  }
  worker.has_news = true;
  set_worker_state(cx, ix, WorkerState::kInactive);
  cx.state.timers.clear({TimerKind::kWorker, ix.value});
  update_offer(cx, ix);
  tell_loss(cx, ix, Evidence::kGoodbye, 0);
}

}  // namespace vortex::core
