#include <algorithm>
#include <vector>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"

namespace vortex::core {

namespace {

constexpr Duration kAskAgain = seconds(1);

struct Fleet {
  std::uint32_t size = 0;
  std::uint32_t doubtful = 0;
};

bool is_doubtful(const Context& cx, const Worker& worker) {
  if (worker.lost_pending || std::holds_alternative<Hinted>(worker.trust)) return true;
  const Judged heard = std::max(worker.heard_at, cx.state.silence_floor);
  return cx.judged - heard >= cx.state.policy.worker_lease / 2;
}

Fleet count_fleet(Context& cx) {
  auto& losses = cx.state.weak_losses;
  const Judged since = cx.judged - cx.state.policy.worker_lease;
  std::erase_if(losses, [since](const auto& loss) { return loss.first < since; });
  Fleet fleet;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const Worker& worker = cx.worker({i});
    if (!is_present(worker.state)) continue;
    ++fleet.size;
    if (is_doubtful(cx, worker)) ++fleet.doubtful;
  }
  for (const auto& [at, ix] : losses) {
    if (is_present(cx.worker(ix).state)) continue;  // it is back and was counted above
    ++fleet.size;
    ++fleet.doubtful;
  }
  return fleet;
}

void set_brake_timer(Context& cx, Judged at) {
  cx.state.timers.set({TimerKind::kOwn, static_cast<std::uint32_t>(OwnTimer::kBrake)}, at);
}

void announce(Context& cx, EventKind kind, const char* phase) {
  cx.event(kind, {}, {{"phase", std::string(phase)}}, Severity::kWarning);
}

void engage(Context& cx) {
  REACHED("core: brake engaged");
  cx.state.brake = BrakeHolding{};
  announce(cx, EventKind::kBrakeEngaged, "holding");
  cx.fx.self_check = true;
  set_brake_timer(cx, cx.judged + kAskAgain);
}

void release(Context& cx) {
  REACHED("core: brake released");
  cx.state.brake = BrakeOff{};
  announce(cx, EventKind::kBrakeReleased, "off");
  set_brake_timer(cx, kJudgedNever);
}

std::vector<WorkerIx> pending(Context& cx) {
  std::vector<WorkerIx> out;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const Worker& worker = cx.worker({i});
    if (is_present(worker.state) && worker.lost_pending) out.push_back({i});
  }
  return out;
}

Duration trickle_interval(const Policy& policy, std::uint32_t fleet) {
  const std::int64_t per_minute_milli =
      std::int64_t{std::max(fleet, 1u)} * policy.brake_permille_per_minute;
  return {minutes(1).us * 1000 / std::max<std::int64_t>(per_minute_milli, 1)};
}

void trickle(Context& cx) {
  const auto waiting = pending(cx);
  if (waiting.empty()) return release(cx);
  if (!cx.state.store_writable) return set_brake_timer(cx, cx.judged + kAskAgain);
  // Under the brake every loss is by silence: a hint may have been our own network's.
  std::vector<WorkerIx> ripe;
  for (const WorkerIx ix : waiting) {
    if (cx.judged >= lease_end(cx.state, cx.worker(ix))) ripe.push_back(ix);
  }
  if (cx.judged >= cx.state.next_trickle && !ripe.empty()) {
    cx.state.next_trickle = cx.judged + trickle_interval(cx.state.policy, count_fleet(cx).size);
    lose_worker(cx, ripe[cx.state.rng.below(ripe.size())], Evidence::kSilence);
  }
  set_brake_timer(cx, cx.judged + kAskAgain);
}

}  // namespace

void note_weak_loss(Context& cx, WorkerIx ix) { cx.state.weak_losses.emplace_back(cx.judged, ix); }

bool may_lose(Context& cx, WorkerIx ix) {
  if (planted(PlantedBug::kBrakeOff)) return true;
  if (std::holds_alternative<BrakeOff>(cx.state.brake)) {
    const Fleet fleet = count_fleet(cx);
    const bool most =
        fleet.size >= cx.state.policy.brake_fleet_min && fleet.doubtful * 2 > fleet.size;
    if (!most && cx.state.store_writable) return true;
    engage(cx);
  }
  cx.worker(ix).lost_pending = true;
  return false;
}

void on_store_health(Context& cx, const StoreHealth& command) {
  if (command.writable == cx.state.store_writable) return;
  cx.state.store_writable = command.writable;
  if (!command.writable || planted(PlantedBug::kOutageRuleOff)) return;
  REACHED("core: store takes writes again");
  // Nobody could renew in the meantime: everybody gets one full lease from here.
  cx.state.silence_floor = cx.judged;
}

void on_self_check(Context& cx, const SelfCheckResult& command) {
  if (!std::holds_alternative<BrakeHolding>(cx.state.brake)) return;
  if (!command.well || !cx.state.store_writable) return;
  cx.state.brake = BrakeTrickle{};
  announce(cx, EventKind::kBrakeEngaged, "trickle");
  set_brake_timer(cx, cx.judged);
}

void on_brake_timer(Context& cx) {
  if (std::holds_alternative<BrakeHolding>(cx.state.brake)) {
    if (pending(cx).empty()) return release(cx);
    cx.fx.self_check = true;
    return set_brake_timer(cx, cx.judged + kAskAgain);
  }
  if (std::holds_alternative<BrakeTrickle>(cx.state.brake)) trickle(cx);
}

}  // namespace vortex::core
