#include "cli/progress_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/json_view.h"

namespace vortex::cli {
namespace {

// Where a task is after an event; unset: it says nothing about that. A failed attempt is followed
// by a second event that tells whether there is another try.
std::optional<TaskState> state_after(std::string_view event) {
  constexpr std::pair<std::string_view, TaskState> kAfter[] = {
      {"task_claimed", TaskState::kScheduled},   {"task_started", TaskState::kRunning},
      {"task_complete", TaskState::kCompleted},  {"task_dead_lettered", TaskState::kFailed},
      {"task_quarantined", TaskState::kFailed},  {"task_requeued", TaskState::kQueued},
      {"task_retry", TaskState::kQueued},        {"task_redriven", TaskState::kQueued},
      {"task_cancelled", TaskState::kCancelled},
  };
  for (const auto& [name, state] : kAfter) {
    if (name == event) return state;
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t TaskGroup::ended() const {
  return in(TaskState::kCompleted) + in(TaskState::kFailed) + in(TaskState::kCancelled) +
         in(TaskState::kSkipped);
}

std::uint32_t TaskGroup::held() const {
  return in(TaskState::kRunning) + in(TaskState::kScheduled);
}

std::optional<TaskState> task_state_from(std::string_view text) {
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto state = static_cast<TaskState>(i);
    if (to_text(state) == text) return state;
  }
  return std::nullopt;
}

ProgressModel::ProgressModel(PlanPtr plan, Detail detail)
    : plan_(std::move(plan)), detail_(detail) {
  const auto waiting = number_of(TaskState::kWaiting);
  if (detail_ == Detail::kWhole) {
    TaskGroup all{"all tasks", plan_->tasks, {}};
    all.by_state[waiting] = plan_->tasks;
    groups_.push_back(std::move(all));
    return;
  }
  for (std::uint32_t node = 0; node < plan_->nodes.size(); ++node) {
    TaskGroup group{plan_->node_spec(node).name, plan_->nodes[node].tasks, {}};
    group.by_state[waiting] = group.total;
    groups_.push_back(std::move(group));
  }
  states_.assign(plan_->tasks, TaskState::kWaiting);
}

void ProgressModel::set(std::uint32_t index, TaskState state) {
  if (index >= states_.size()) return;
  TaskGroup& group = groups_[plan_->node_of_task(index)];
  const TaskState before = std::exchange(states_[index], state);
  --group.by_state[number_of(before)];
  ++group.by_state[number_of(state)];
}

void ProgressModel::apply(const boost::json::object& event) {
  const auto state = state_after(text_at(event, "event"));
  const auto task = parse_task_id(text_at(event, "task_id"));
  if (state && task) set(task->index, *state);
}

void ProgressModel::set_counts(const boost::json::object& counts) {
  if (detail_ != Detail::kWhole) return;
  TaskGroup& all = groups_.front();
  std::uint32_t made = 0;
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto count =
        static_cast<std::uint32_t>(number_at(counts, to_text(static_cast<TaskState>(i))));
    all.by_state[i] = count;
    made += count;
  }
  // Tasks that are not made yet wait too.
  if (made < all.total) all.by_state[number_of(TaskState::kWaiting)] += all.total - made;
}

TaskGroup ProgressModel::total() const {
  TaskGroup all{"all tasks", plan_->tasks, {}};
  for (const TaskGroup& group : groups_) {
    for (std::size_t i = 0; i < kTaskStates; ++i) all.by_state[i] += group.by_state[i];
  }
  return all;
}

}  // namespace vortex::cli
