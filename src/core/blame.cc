#include <algorithm>
#include <string>

#include "base/hash.h"
#include "base/reached.h"
#include "core/machine.h"

namespace vortex::core {

namespace {

constexpr std::uint32_t kDoublingsMax = 4;  // the longest wait is 16 times the shortest

std::uint64_t definition_of(Context& cx, const Task& task) {
  Hasher hasher;
  hasher.add(cx.run_of(task).plan->digest);
  hasher.add(task.node);
  return hasher.value();
}

// What could not start is not among them: a missing program, folder or param says something about
// the task and nothing about the worker.
bool is_abnormal(Verdict verdict) {
  return verdict == Verdict::kSignal || verdict == Verdict::kOutOfMemory;
}

bool is_normal(Verdict verdict) {
  return verdict == Verdict::kCompleted || verdict == Verdict::kExitCode;
}

// The workers that would take work if nobody were blamed, and those of them that are.
struct BlamedFleet {
  std::uint32_t all = 0;
  std::uint32_t waiting = 0;
  std::uint32_t on_probation = 0;
  WorkerIx next;  // the waiting one whose probation begins first
};

BlamedFleet count_blamed(Context& cx) {
  BlamedFleet fleet;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const Worker& worker = cx.worker({i});
    if (!is_in_service(worker)) continue;
    ++fleet.all;
    if (worker.blame == WorkerBlame::kProbation) ++fleet.on_probation;
    if (worker.blame != WorkerBlame::kCordoned) continue;
    ++fleet.waiting;
    const bool sooner =
        !fleet.next.valid() || worker.probation_at < cx.worker(fleet.next).probation_at;
    if (sooner) fleet.next = {i};
  }
  return fleet;
}

void forget_blame(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  worker.blame = WorkerBlame::kNone;
  worker.times_blamed = 0;
  worker.probation_at = kNever;
  cx.state.timers.clear({TimerKind::kProbation, ix.value});
}

void cordon_by_blame(Context& cx, WorkerIx ix, const char* why) {
  Worker& worker = cx.worker(ix);
  const Duration wait =
      cx.state.policy.probation_after * (1 << std::min(worker.times_blamed, kDoublingsMax));
  worker.cordoned = true;
  worker.blame = WorkerBlame::kCordoned;
  worker.probation_at = cx.now + wait;
  ++worker.times_blamed;
  cx.state.timers.set({TimerKind::kProbation, ix.value}, cx.judged + wait);
  cx.touch(ix);
  cx.event(EventKind::kWorkerCordoned, {.worker = ix, .task = {}, .run = {}},
           {{"reason", std::string(why)}, {"probation_in_ms", wait.us / 1000}}, Severity::kWarning);
  update_offer(cx, ix);
}

void withhold_cordon(Context& cx, WorkerIx ix, const BlamedFleet& fleet) {
  REACHED("core: cordon withheld because too many workers are blamed");
  cx.event(EventKind::kWorkerCordonWithheld, {.worker = ix, .task = {}, .run = {}},
           {{"reason", std::string("no more workers may be cordoned because of task deaths now")},
            {"blamed", std::int64_t{fleet.waiting} + fleet.on_probation},
            {"blamed_max", std::int64_t{blame_cap(cx.state.policy, fleet.all)}},
            {"workers", std::int64_t{fleet.all}}},
           Severity::kWarning);
}

// One test is enough: it was given this task to show that it is well.
void fail_probation(Context& cx, WorkerIx ix) {
  const BlamedFleet fleet = count_blamed(cx);
  if (fleet.waiting + 1 > blame_cap(cx.state.policy, fleet.all)) {
    return withhold_cordon(cx, ix, fleet);
  }
  REACHED("core: probation failed");
  cordon_by_blame(cx, ix, "its test task died abnormally");
}

}  // namespace

bool on_last_try(const Policy& policy, const Task& task) {
  return task.counters.crashes > 0 && task.counters.crashes + 1 >= policy.crash_limit;
}

bool holds_last_try(const State& state, const Worker& worker) {
  for (TaskIx ix = worker.held.head; ix.valid(); ix = state.tasks[ix].links.next) {
    if (on_last_try(state.policy, state.tasks[ix])) return true;
  }
  return false;
}

std::uint32_t blame_cap(const Policy& policy, std::uint32_t workers) {
  if (policy.cordon_share_percent == 0 || workers < 2) return 0;
  const std::uint64_t share = std::uint64_t{workers} * policy.cordon_share_percent / 100;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(share, 1, workers - 1));
}

void set_cordon(Context& cx, WorkerIx ix, bool cordoned, const char* why) {
  Worker& worker = cx.worker(ix);
  worker.abnormal.clear();
  const bool was_in_service = is_in_service(worker);
  // An operator's cordon takes the place of one by blame: it stays until an operator lifts it.
  const bool same = worker.cordoned == cordoned && worker.blame == WorkerBlame::kNone;
  forget_blame(cx, ix);
  if (same) return;
  worker.cordoned = cordoned;
  cx.touch(ix);
  cx.event(cordoned ? EventKind::kWorkerCordoned : EventKind::kWorkerUncordoned,
           {.worker = ix, .task = {}, .run = {}}, {{"reason", std::string(why)}},
           cordoned ? Severity::kWarning : Severity::kInfo);
  if (was_in_service && !is_in_service(worker)) cx.fleet_shrank = true;
  update_offer(cx, ix);
}

void begin_probation(Context& cx, WorkerIx ix, const char* why) {
  Worker& worker = cx.worker(ix);
  worker.blame = WorkerBlame::kProbation;
  worker.probation_at = kNever;
  cx.state.timers.clear({TimerKind::kProbation, ix.value});
  cx.touch(ix);
  cx.event(EventKind::kWorkerProbation, {.worker = ix, .task = {}, .run = {}},
           {{"reason", std::string(why)}, {"times_blamed", std::int64_t{worker.times_blamed}}});
  update_offer(cx, ix);
}

void on_probation_timer(Context& cx, WorkerIx ix) {
  const Worker& worker = cx.worker(ix);
  // One that is gone begins its probation when it comes back.
  if (worker.blame != WorkerBlame::kCordoned || !is_present(worker.state)) return;
  begin_probation(cx, ix, "the wait is over");
}

void relax_blame(Context& cx) {
  BlamedFleet fleet = count_blamed(cx);
  while (fleet.waiting > blame_cap(cx.state.policy, fleet.all)) {
    REACHED("core: probation began early because workers left");
    begin_probation(cx, fleet.next, "too few other workers are left");
    fleet = count_blamed(cx);
  }
}

void judge_worker(Context& cx, WorkerIx ix, const Task& task, const AttemptEnd& end) {
  Worker& worker = cx.worker(ix);
  const bool on_probation = worker.blame == WorkerBlame::kProbation;
  if (is_normal(end.verdict)) {
    worker.abnormal.clear();
    if (on_probation) set_cordon(cx, ix, false, "its test task ended normally");
    return;
  }
  if (!is_abnormal(end.verdict)) return;
  if (on_probation && is_in_service(worker)) return fail_probation(cx, ix);
  if (!is_in_service(worker) || worker.blame != WorkerBlame::kNone) return;
  const std::uint64_t definition = definition_of(cx, task);
  if (std::find(worker.abnormal.begin(), worker.abnormal.end(), definition) ==
      worker.abnormal.end()) {
    worker.abnormal.push_back(definition);
  }
  if (worker.abnormal.size() < cx.state.policy.cordon_after) return;
  worker.abnormal.clear();
  const BlamedFleet fleet = count_blamed(cx);
  const bool fits = fleet.waiting + fleet.on_probation + 1 <= blame_cap(cx.state.policy, fleet.all);
  if (!fits) return withhold_cordon(cx, ix, fleet);
  REACHED("core: worker cordoned after abnormal deaths");
  cordon_by_blame(cx, ix, "different tasks in a row died abnormally");
}

}  // namespace vortex::core
