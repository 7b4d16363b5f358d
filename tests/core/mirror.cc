#include "tests/core/mirror.h"

#include <gtest/gtest.h>

namespace vortex::core {

namespace {

// Recounting after every step would take too long for the tests with very many tasks.
constexpr std::size_t kCountedUpTo = 2'000;

bool may_follow(const TaskRow& before, const TaskRow& after) {
  if (after.epoch < before.epoch) return false;
  if (!is_final(before.state)) return true;
  if (before.state == after.state) return before.epoch == after.epoch;
  return before.state == TaskState::kFailed || before.state == TaskState::kSkipped;
}

}  // namespace

void Mirror::apply_task(const TaskRow& row) {
  const auto before = tasks.find(row.id);
  if (before != tasks.end()) {
    EXPECT_TRUE(may_follow(before->second, row))
        << to_text(row.id) << ": " << to_text(before->second.state) << " -> " << to_text(row.state);
  }
  tasks[row.id] = row;
}

void Mirror::apply_data(const TaskDataRow& row) {
  TaskDataRow& known = data[row.id];
  known.id = row.id;
  known.epoch = row.epoch;
  if (row.checkpoint) known.checkpoint = row.checkpoint;
  if (row.outputs) known.outputs = row.outputs;
  if (row.uploaded) known.uploaded = row.uploaded;
  if (known.uploaded && known.uploaded->number == 0) known.uploaded.reset();
}

void Mirror::apply(const RowBatch& rows) {
  for (const RunRow& row : rows.runs) runs[row.id] = row;
  for (const TaskRow& row : rows.tasks) apply_task(row);
  for (const TaskDataRow& row : rows.task_data) apply_data(row);
  for (const AttemptRow& row : rows.attempts) {
    EXPECT_TRUE(attempts.emplace(row.attempt, row).second) << "an attempt ended twice";
  }
  for (const WorkerId& id : rows.workers_gone) workers.erase(id);
  for (const MachineId& id : rows.machines_gone) machines.erase(id);
  for (const PartitionKey& key : rows.leases_gone) leases.erase(key);
  for (const WorkerRow& row : rows.workers) workers[row.info->id] = row;
  for (const MachineRow& row : rows.machines) machines[row.id] = row;
  for (const RecoveryRow& row : rows.recoveries) {
    EXPECT_TRUE(recoveries.emplace(row.id, row).second) << "a recovery was written twice";
  }
  for (const RecoveryItemRow& row : rows.recovery_items) {
    recovery_items[{row.recovery, row.task}] = row;
  }
  for (const DeadLetterRow& row : rows.dead_letters) dead_letters[row.attempt] = row;
  for (const PartitionLeaseRow& row : rows.leases) leases[row.partition] = row;
  for (const QueueRow& row : rows.queues) queues[row.name] = row;
  for (const JournalRow& row : rows.journals) {
    row.forgotten ? void(journals.erase(row.supervisor)) : void(journals[row.supervisor] = row);
  }
  for (const SignalRow& row : rows.signals) signals[{row.run, row.number}] = row;
  for (const LimitRow& row : rows.limits) {
    row.removed ? void(limits.erase(row.name)) : void(limits[row.name] = row);
  }
  for (const ScheduleRow& row : rows.schedules) {
    row.removed ? void(schedules.erase(row.dag)) : void(schedules[row.dag] = row);
  }
  if (rows.counters) counters = *rows.counters;
  expect_counts();
}

void Mirror::expect_counts() const {
  if (tasks.size() > kCountedUpTo) return;
  std::map<RunId, TaskCounts> by_run;
  TaskTotals all{};
  for (const auto& [id, row] : tasks) {
    ++by_run[id.run][number_of(row.state)];
    ++all[number_of(row.state)];
  }
  for (const auto& [id, row] : runs) EXPECT_EQ(row.made, by_run[id]) << to_text(id);
  EXPECT_EQ(counters.tasks, all);
}

std::vector<TaskRow> Mirror::tasks_of(RunId run) const {
  std::vector<TaskRow> out;
  for (auto at = tasks.lower_bound({run, 0}); at != tasks.end() && at->first.run == run; ++at) {
    out.push_back(at->second);
  }
  return out;
}

std::vector<AttemptRow> Mirror::attempts_of(TaskId task) const {
  std::vector<AttemptRow> out;
  for (const auto& [attempt, row] : attempts) {
    if (attempt.task == task) out.push_back(row);
  }
  return out;
}

RunImage Mirror::run_image(RunId run) const {
  RunImage image;
  image.run = runs.at(run);
  image.tasks = tasks_of(run);
  for (const TaskRow& task : image.tasks) {
    const auto known = data.find(task.id);
    if (known != data.end()) image.data.push_back(known->second);
  }
  for (const auto& [key, row] : signals) {
    if (key.first == run) image.signals.push_back(row);
  }
  return image;
}

StoreImage Mirror::image() const {
  StoreImage image;
  image.counters = counters;
  for (const auto& [id, run] : runs) {
    const TaskCounts& made = run.made;
    const bool open = made[number_of(TaskState::kWaiting)] + made[number_of(TaskState::kQueued)] +
                          made[number_of(TaskState::kScheduled)] +
                          made[number_of(TaskState::kRunning)] >
                      0;
    if (run.state == RunState::kRunning || open) image.runs.push_back(run_image(id));
    if (!run.request->idempotency_key.empty()) {
      image.keys.push_back({run.request->idempotency_key, id, run.request->digest});
    }
  }
  for (const auto& [id, row] : workers) image.workers.push_back(row);
  for (const auto& [id, row] : machines) image.machines.push_back(row);
  for (const auto& [key, row] : leases) image.leases.push_back(row);
  for (const auto& [name, row] : queues) image.queues.push_back(row);
  for (const auto& [name, row] : journals) image.journals.push_back(row);
  for (const auto& [dag, row] : schedules) image.schedules.push_back(row);
  for (const auto& [name, row] : limits) image.limits.push_back(row);
  for (const auto& [attempt, row] : dead_letters) {
    if (row.state == DeadLetterState::kOpen) image.dead_letters.push_back(row);
  }
  return image;
}

bool is_empty(const RowBatch& rows) {
  return rows.runs.empty() && rows.tasks.empty() && rows.task_data.empty() &&
         rows.attempts.empty() && rows.workers.empty() && rows.machines.empty() &&
         rows.recoveries.empty() && rows.recovery_items.empty() && rows.dead_letters.empty() &&
         rows.leases.empty() && rows.queues.empty() && rows.journals.empty() &&
         rows.signals.empty() && rows.schedules.empty() && rows.limits.empty() && !rows.counters &&
         rows.workers_gone.empty() && rows.machines_gone.empty() && rows.leases_gone.empty();
}

}  // namespace vortex::core
