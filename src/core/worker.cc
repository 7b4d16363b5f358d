#include "core/worker.h"

#include <memory>
#include <utility>

namespace vortex::core {

bool Worker::takes_work() const {
  return (state == WorkerState::kIdle || state == WorkerState::kRunning) && !cordoned &&
         is_trusted() && !lost_pending;
}

WorkerIx WorkerTable::add(WorkerId id) {
  WorkerIx ix{size()};
  if (vacant_.empty()) {
    slots_.push_back(std::make_unique<Worker>());
  } else {
    ix = vacant_.back();
    vacant_.pop_back();
    *slots_[ix.value] = Worker{};
  }
  by_id_.emplace(std::move(id), ix);
  return ix;
}

void WorkerTable::retire(WorkerIx ix) {
  by_id_.erase(slots_[ix.value]->info->id);
  retiring_.push_back(ix);
}

void WorkerTable::vacate() {
  static const auto nobody = std::make_shared<const WorkerInfo>();
  for (const WorkerIx ix : retired_) {
    Worker& worker = *slots_[ix.value];
    worker = Worker{};
    worker.info = nobody;
    worker.state = WorkerState::kInactive;
    vacant_.push_back(ix);
  }
  retired_ = std::exchange(retiring_, {});
  for (const WorkerIx ix : retired_) slots_[ix.value]->retired = true;
}

WorkerIx WorkerTable::find(const WorkerId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? WorkerIx::none() : found->second;
}

}  // namespace vortex::core
