#include "core/blame.h"

#include <algorithm>

#include "base/hash.h"
#include "base/reached.h"
#include "core/assign.h"

namespace vortex::core {

namespace {

std::uint64_t definition_of(Context& cx, const Task& task) {
  Hasher hasher;
  hasher.add(cx.run_of(task).plan->digest);
  hasher.add(task.node);
  return hasher.value();
}

bool is_abnormal(Verdict verdict) {
  return verdict == Verdict::kSignal || verdict == Verdict::kOutOfMemory ||
         verdict == Verdict::kCouldNotStart;
}

bool is_normal(Verdict verdict) {
  return verdict == Verdict::kCompleted || verdict == Verdict::kExitCode;
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

void set_cordon(Context& cx, WorkerIx ix, bool cordoned, const char* why) {
  Worker& worker = cx.worker(ix);
  worker.abnormal.clear();
  if (worker.cordoned == cordoned) return;
  worker.cordoned = cordoned;
  cx.touch(ix);
  cx.event(cordoned ? EventKind::kWorkerCordoned : EventKind::kWorkerUncordoned,
           {.worker = ix, .task = {}, .run = {}}, {{"reason", std::string(why)}},
           cordoned ? Severity::kWarning : Severity::kInfo);
  update_offer(cx, ix);
}

void judge_worker(Context& cx, WorkerIx ix, const Task& task, const AttemptEnd& end) {
  Worker& worker = cx.worker(ix);
  if (is_normal(end.verdict)) return worker.abnormal.clear();
  if (!is_abnormal(end.verdict)) return;
  const std::uint64_t definition = definition_of(cx, task);
  if (std::find(worker.abnormal.begin(), worker.abnormal.end(), definition) ==
      worker.abnormal.end()) {
    worker.abnormal.push_back(definition);
  }
  if (worker.abnormal.size() < cx.state.policy.cordon_after || worker.cordoned) return;
  REACHED("core: worker cordoned after abnormal deaths");
  set_cordon(cx, ix, true, "different tasks in a row died abnormally");
}

}  // namespace vortex::core
