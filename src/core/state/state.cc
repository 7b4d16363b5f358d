#include "core/state/state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "core/state/policy.h"
#include "core/state/run.h"
#include "core/state/task.h"
#include "core/state/worker.h"

namespace vortex::core {

Policy make_policy(const Settings& settings) {
  const ControllerSettings& c = settings.controller;
  Policy policy;
  policy.worker_lease = c.heartbeat_timeout;
  policy.heartbeat_interval = settings.worker.heartbeat_interval;
  policy.kill_time = settings.worker.kill_grace;
  policy.self_fence = settings.worker.self_fence;
  policy.scheduled_timeout = c.scheduled_timeout;
  policy.execution_timeout = c.task_timeout;
  policy.stale_after = c.task_stale_timeout;
  policy.stale_for_all = c.task_stale_for_all;
  policy.reconnect_grace = c.reconnect_grace;
  policy.worker_queue_ttl = c.worker_queue_ttl;
  policy.keep_away = std::min(policy.keep_away, c.heartbeat_timeout / 2);
  policy.partition_lease = c.partition_lease;
  // One tick looks after every deadline, so the closer of the two limits holds for all of them.
  policy.sweep = std::min(c.sweep_interval, c.timeout_check_interval);
  policy.health_check_interval = c.health_check_interval;
  policy.reconcile_interval = c.reconcile_interval;
  policy.retain_workers = hours(24) * settings.database.retain_workers_days;
  policy.retain_leases = hours(24) * settings.database.retain_leases_days;
  policy.retry.max_retries = static_cast<std::uint16_t>(c.max_task_retries);
  policy.crash_limit = static_cast<std::uint16_t>(c.crash_limit);
  policy.cordon_after = static_cast<std::uint16_t>(c.worker_cordon_after);
  policy.cordon_share_percent = c.worker_cordon_share;
  policy.probation_after = c.worker_probation_after;
  policy.flapping_losses = static_cast<std::uint16_t>(c.flapping_losses);
  policy.flapping_window = c.flapping_window;
  policy.upload_bytes_max = std::uint64_t{c.checkpoint_max_mib} << 20U;
  policy.outputs_bytes_max = c.outputs_max_kib << 10U;
  policy.dag_limits.tasks_max = c.max_tasks_per_run;
  policy.dag_limits.nodes_max = c.max_dag_nodes;
  policy.dag_limits.needs_max = c.max_dag_needs;
  policy.dag_limits.depth_max = c.max_dag_depth;
  policy.quota = {c.quota_runs, c.quota_tasks, std::uint64_t{c.quota_mib} << 20U};
  policy.quota_per_token = {c.token_quota_runs, c.token_quota_tasks,
                            std::uint64_t{c.token_quota_mib} << 20U};
  return policy;
}

WorkerIx Task::last_worker() const {
  if (const Grant* held = grant()) return held->worker;
  if (const auto* queued = std::get_if<Queued>(&phase)) return queued->last_worker;
  if (const auto* end = std::get_if<Final>(&phase)) return end->worker;
  return {};
}

TaskNotes& Task::notes_for_writing() {
  if (!notes) notes = std::make_unique<TaskNotes>();
  return *notes;
}

TaskIx TaskTable::add() {
  ++live_;
  if (free_head_.valid()) {
    const TaskIx ix = free_head_;
    free_head_ = (*this)[ix].links.next;
    (*this)[ix] = Task{};
    return ix;
  }
  if (used_ % kPage == 0) pages_.push_back(std::make_unique<Task[]>(kPage));
  return {used_++};
}

void TaskTable::remove(TaskIx ix) {
  Task& task = (*this)[ix];
  task = Task{};
  task.links.next = free_head_;
  free_head_ = ix;
  --live_;
}

std::size_t TaskTable::bytes() const { return pages_.size() * kPage * sizeof(Task); }

void TaskTable::push_back(TaskList& list, TaskIx ix) {
  Task& task = (*this)[ix];
  task.links = {list.tail, TaskIx::none()};
  (list.tail.valid() ? (*this)[list.tail].links.next : list.head) = ix;
  list.tail = ix;
  ++list.size;
}

void TaskTable::push_front(TaskList& list, TaskIx ix) {
  Task& task = (*this)[ix];
  task.links = {TaskIx::none(), list.head};
  (list.head.valid() ? (*this)[list.head].links.prev : list.tail) = ix;
  list.head = ix;
  ++list.size;
}

void TaskTable::unlink(TaskList& list, TaskIx ix) {
  VX_ASSERT(list.size > 0);
  Task& task = (*this)[ix];
  (task.links.prev.valid() ? (*this)[task.links.prev].links.next : list.head) = task.links.next;
  (task.links.next.valid() ? (*this)[task.links.next].links.prev : list.tail) = task.links.prev;
  task.links = {};
  --list.size;
}

RunIx RunTable::add(RunId id) {
  RunIx ix{static_cast<std::uint32_t>(slots_.size())};
  if (free_.empty()) {
    slots_.push_back(nullptr);
  } else {
    ix.value = free_.back();
    free_.pop_back();
  }
  slots_[ix.value] = std::make_unique<Run>();
  slots_[ix.value]->id = id;
  auto& page = pages_[id.value / kPage];
  if (!page) page = std::make_unique<Page>();
  VX_ASSERT(!page->runs[id.value % kPage].valid());
  page->runs[id.value % kPage] = ix;
  ++page->used;
  ++live_;
  return ix;
}

void RunTable::remove(RunIx ix) {
  const RunId id = slots_[ix.value]->id;
  const auto page = pages_.find(id.value / kPage);
  page->second->runs[id.value % kPage] = RunIx::none();
  if (--page->second->used == 0) {
    near_page_ = nullptr;
    pages_.erase(page);
  }
  slots_[ix.value].reset();
  free_.push_back(ix.value);
  --live_;
}

RunIx RunTable::find(RunId id) const {
  const std::uint64_t number = id.value / kPage;
  if (near_page_ == nullptr || near_ != number) {
    const auto page = pages_.find(number);
    if (page == pages_.end()) return RunIx::none();
    near_ = number;
    near_page_ = page->second.get();
  }
  return near_page_->runs[id.value % kPage];
}

bool Worker::takes_work() const {
  const bool barred = cordoned && blame != WorkerBlame::kProbation;
  return (state == WorkerState::kIdle || state == WorkerState::kRunning) && !barred &&
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
