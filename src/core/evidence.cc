#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"

namespace vortex::core {

namespace {

void suspect(Context& cx, WorkerIx ix, const char* why) {
  Worker& worker = cx.worker(ix);
  if (!worker.is_trusted()) return;
  worker.trust = Suspect{};
  measure_gap(cx, worker, "suspect");
  cx.touch(ix);
  cx.event(EventKind::kHeartbeatStale, {.worker = ix, .task = {}, .run = {}},
           {{"reason", std::string(why)}}, Severity::kWarning);
  update_offer(cx, ix);
}

void request_probe(Context& cx, WorkerIx ix) {
  const Worker& worker = cx.worker(ix);
  if (worker.info->address.empty()) return;
  cx.fx.probes.push_back({worker.info->id, worker.incarnation, worker.info->address});
}

bool is_quiet(const Context& cx, const Worker& worker) {
  const Policy& policy = cx.state.policy;
  return cx.judged - worker.heard_at > policy.heartbeat_interval + policy.heartbeat_interval / 2;
}

// The worker of a report about one of its lives, if that life is the present one.
WorkerIx present_life(Context& cx, const WorkerId& id, Incarnation incarnation) {
  const WorkerIx ix = cx.state.workers.find(id);
  if (!ix.valid()) return ix;
  const Worker& worker = cx.worker(ix);
  return worker.incarnation == incarnation && is_present(worker.state) ? ix : WorkerIx::none();
}

}  // namespace

Judged lease_end(const State& state, const Worker& worker) {
  return std::max(worker.heard_at, state.silence_floor) + state.policy.worker_lease;
}

void hear_worker(Context& cx, WorkerIx ix, Instant worker_clock) {
  Worker& worker = cx.worker(ix);
  if (!worker.is_trusted() || worker.lost_pending) measure_gap(cx, worker, "recovered");
  worker.heard_at = cx.judged;
  if (planted(PlantedBug::kExpiryBySkewedClock)) {
    worker.heard_at = cx.state.clock.judged(worker_clock);
  }
  worker.last_heartbeat = cx.now;
  if (!worker.is_trusted() || worker.lost_pending) {
    REACHED("core: suspected worker was heard again");
    worker.trust = Trusted{};
    worker.lost_pending = false;
    cx.touch(ix);
    cx.event(EventKind::kHeartbeatRecovered, {.worker = ix, .task = {}, .run = {}});
    refresh_worker_timer(cx, ix);
  }
  if (worker.state == WorkerState::kRegistering) {
    set_worker_state(cx, ix, worker.held.empty() ? WorkerState::kIdle : WorkerState::kRunning);
    cx.event(EventKind::kWorkerReady, {.worker = ix, .task = {}, .run = {}});
  }
  // One row per worker and half an interval, however often it calls.
  const Duration rewrite = cx.state.policy.heartbeat_interval / 2;
  if (worker.heartbeat_written == kNever || cx.now - worker.heartbeat_written >= rewrite) {
    cx.touch(ix);
  }
}

void on_connection_lost(Context& cx, const ConnectionLost& command) {
  const WorkerIx ix = present_life(cx, command.worker, command.incarnation);
  if (!ix.valid()) return;
  Worker& worker = cx.worker(ix);
  if (!worker.parked || worker.parked->request != command.request) return;
  worker.parked.reset();
  suspect(cx, ix, "its connection closed");
  update_offer(cx, ix);
  request_probe(cx, ix);
}

void on_probe_result(Context& cx, const ProbeResult& command) {
  const WorkerIx ix = present_life(cx, command.worker, command.incarnation);
  if (!ix.valid()) return;
  Worker& worker = cx.worker(ix);
  // An open call of it outweighs whatever a probe says.
  if (worker.parked || command.outcome == ProbeOutcome::kAnswered) return;
  if (worker.is_trusted() && !is_quiet(cx, worker)) return;
  suspect(cx, ix,
          command.outcome == ProbeOutcome::kRefused ? "its address refuses connections"
                                                    : "it does not answer probes");
  if (command.outcome != ProbeOutcome::kRefused || std::holds_alternative<Hinted>(worker.trust)) {
    return;
  }
  worker.trust = Hinted{cx.judged + cx.state.policy.reconnect_grace};
  refresh_worker_timer(cx, ix);
}

void refresh_worker_timer(Context& cx, WorkerIx ix) {
  const Worker& worker = cx.worker(ix);
  Judged at = worker.lost_pending ? kJudgedNever : lease_end(cx.state, worker);
  if (const auto* hinted = std::get_if<Hinted>(&worker.trust); hinted && !worker.lost_pending) {
    at = std::min(at, hinted->reclaim_at);
  }
  // With news the parked call is answered at the end of this very step.
  if (worker.parked && !worker.has_news) at = std::min(at, worker.parked->until);
  cx.state.timers.set({TimerKind::kWorker, ix.value}, at);
}

void on_worker_timer(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  if (worker.parked && cx.judged >= worker.parked->until) on_park_expired(cx, ix);
  const auto* hinted = std::get_if<Hinted>(&worker.trust);
  if (!worker.lost_pending && cx.judged >= lease_end(cx.state, worker)) {
    if (may_lose(cx, ix)) return lose_worker(cx, ix, Evidence::kSilence);
  } else if (!worker.lost_pending && hinted && cx.judged >= hinted->reclaim_at) {
    if (may_lose(cx, ix)) {
      // What it leaves behind (exclusive tasks) waits for proof or silence.
      worker.trust = Suspect{};
      lose_worker(cx, ix, Evidence::kHint);
      if (!is_present(cx.worker(ix).state)) return;
    }
  }
  refresh_worker_timer(cx, ix);
}

void measure_gap(Context& cx, const Worker& worker, const char* became) {
  const bool heard = worker.last_heartbeat != kNever;
  const Instant last = heard ? worker.last_heartbeat : worker.registered_at;
  cx.measure(Sample::Kind::kHeartbeatGap, became, std::max(cx.now - last, Duration{}));
}

void on_health_pass(Context& cx) {
  cx.measure(Sample::Kind::kHealthPass, "", {});
  std::string machines;
  for (const MachineId& id : cx.state.pass_machines)
    machines += (machines.empty() ? "" : ",") + id.text;
  // A line when there is something to tell, and one an hour as a sign of life.
  const bool quiet = cx.state.pass_marked == 0 && machines.empty();
  ++cx.state.health_passes.since_told;
  if (cx.state.health_passes.is_due(!quiet, cx.state.policy.health_check_interval)) {
    cx.event(EventKind::kHealthPass, {},
             {{"marked_offline", std::int64_t{cx.state.pass_marked}},
              {"machines", std::move(machines)},
              {"passes", std::int64_t{cx.state.health_passes.tell()}}});
  }
  cx.state.pass_marked = 0;
  cx.state.pass_machines.clear();
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const Worker& worker = cx.worker({i});
    if (is_present(worker.state) && !worker.parked && is_quiet(cx, worker)) request_probe(cx, {i});
  }
}

}  // namespace vortex::core
