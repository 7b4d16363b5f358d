#include "core/task.h"

#include "base/assert.h"

namespace vortex::core {

TaskState Task::state() const {
  struct Name {
    TaskState operator()(const Waiting&) const { return TaskState::kWaiting; }
    TaskState operator()(const Queued&) const { return TaskState::kQueued; }
    TaskState operator()(const Scheduled&) const { return TaskState::kScheduled; }
    TaskState operator()(const Running&) const { return TaskState::kRunning; }
    TaskState operator()(const Final& f) const { return f.outcome; }
  };
  return std::visit(Name{}, phase);
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

}  // namespace vortex::core
