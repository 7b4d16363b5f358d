#include "core/worker.h"

namespace vortex::core {

bool Worker::takes_work() const {
  return (state == WorkerState::kIdle || state == WorkerState::kRunning) && !cordoned &&
         is_trusted() && !lost_pending;
}

WorkerIx WorkerTable::add(WorkerId id) {
  const WorkerIx ix{size()};
  slots_.push_back(std::make_unique<Worker>());
  by_id_.emplace(std::move(id), ix);
  return ix;
}

WorkerIx WorkerTable::find(const WorkerId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? WorkerIx::none() : found->second;
}

}  // namespace vortex::core
