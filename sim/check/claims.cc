#include "sim/check/claims.h"

#include <variant>

namespace vortex::sim {

const WorkerInfo* info_of_life(const Picture& picture, const Holder& life) {
  const auto& workers = picture.workers();
  for (const WorkerRow* row : {workers.find_before(life.worker), workers.find(life.worker)}) {
    if (row != nullptr && row->incarnation == life.incarnation) return row->info.get();
  }
  return nullptr;
}

void ClaimChecker::fact(const Picture& picture, Instant, const Fact& fact) {
  if (latest_.begins(fact)) {
    told_.begin_term();
    term_began(picture);
  }
  const auto* commit = std::get_if<Committed>(&fact);
  if (commit == nullptr) return;
  for (const Event& event : commit->events) {
    if (event.kind == EventKind::kTaskClaimed && event.task) meet(picture, event);
    told_.take(event);
    after(picture, event);
  }
  committed(picture, *commit);
}

void ClaimChecker::meet(const Picture& picture, const Event& event) {
  const TaskRow* task = picture.tasks().find(*event.task);
  const NodeSpec* spec = task != nullptr ? picture.spec_of(*task) : nullptr;
  const ToldWorker* worker = told_.worker(event.worker);
  if (spec == nullptr || worker == nullptr) return;
  const WorkerInfo* info = info_of_life(picture, {event.worker, worker->incarnation});
  if (info == nullptr) return;
  claimed(picture, {event, *task, *spec, *worker, *info});
}

}  // namespace vortex::sim
