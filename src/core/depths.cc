#include "core/depths.h"

#include <algorithm>
#include <utility>

namespace vortex::core {
namespace {

void count_ready(const State& state, const TaskClass& cls, QueueDepth& depth) {
  depth.ready += cls.ready;
  for (const PriorityList& list : cls.lists) {
    if (!list.tasks.head.valid()) continue;
    const auto* queued = std::get_if<Queued>(&state.tasks[list.tasks.head].phase);
    if (queued == nullptr) continue;
    const Instant since = state.clock.term_time(queued->waiting_since);
    depth.oldest_ready = std::min(depth.oldest_ready.value_or(since), since);
  }
}

}  // namespace

std::vector<QueueDepth> queue_depths(const State& state) {
  std::vector<QueueDepth> depths(state.ready.queues());
  for (std::uint32_t i = 0; i < depths.size(); ++i) {
    depths[i].name = state.ready[QueueIx{i}].name;
    depths[i].paused = state.ready[QueueIx{i}].paused;
  }
  for (std::uint32_t i = 0; i < state.ready.classes(); ++i) {
    const TaskClass& cls = state.ready[ClassIx{i}];
    if (cls.users > 0) count_ready(state, cls, depths[cls.queue.value]);
  }
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
    const Worker& worker = state.workers[WorkerIx{i}];
    if (!is_present(worker.state)) continue;
    for (const QueueIx queue : state.ready[worker.profile].queues) ++depths[queue.value].workers;
    for (TaskIx at = worker.held.head; at.valid(); at = state.tasks[at].links.next) {
      const Task& task = state.tasks[at];
      const ClassIx cls = state.runs[task.run].nodes[task.node].cls;
      ++depths[state.ready[cls].queue.value].held;
    }
  }
  return depths;
}

}  // namespace vortex::core
