#include "sim/tables.h"

#include <algorithm>

namespace vortex::sim {

void Tables::apply(const RowBatch& rows) {
  apply_runs(rows);
  for (const auto& row : rows.tasks) tasks_[row.id] = row;
  for (const auto& row : rows.task_data) apply_task_data(row);
  for (const auto& row : rows.attempts) attempts_[row.attempt] = row;
  for (const auto& id : rows.workers_gone) workers_.erase(id);
  for (const auto& id : rows.machines_gone) machines_.erase(id);
  for (const auto& key : rows.leases_gone) leases_.erase(key);
  for (const auto& row : rows.workers) workers_[row.info->id] = row;
  for (const auto& row : rows.machines) machines_[row.id] = row;
  for (const auto& row : rows.recoveries) recoveries_[row.id] = row;
  for (const auto& row : rows.recovery_items) recovery_items_[{row.recovery, row.task}] = row;
  for (const auto& row : rows.dead_letters) dead_letters_[row.attempt] = row;
  for (const auto& row : rows.leases) leases_[row.partition] = row;
  for (const auto& row : rows.queues) queues_[row.name] = row;
  for (const auto& row : rows.limits) {
    row.removed ? void(limits_.erase(row.name)) : void(limits_[row.name] = row);
  }
  for (const auto& row : rows.signals) signals_[{row.run, row.number}] = row;
  for (const JournalRow& row : rows.journals) {
    row.forgotten ? void(journals_.erase(row.supervisor)) : void(journals_[row.supervisor] = row);
  }
  for (const ScheduleRow& row : rows.schedules) {
    row.removed ? void(schedules_.erase(row.dag)) : void(schedules_[row.dag] = row);
  }
  if (rows.counters) counters_ = *rows.counters;
}

void Tables::apply_runs(const RowBatch& rows) {
  for (const auto& row : rows.runs) {
    auto [it, is_new] = runs_.try_emplace(row.id, row);
    if (!is_new) {
      if (it->second.state == RunState::kRunning) --live_runs_;
      it->second = row;
    }
    if (row.state == RunState::kRunning) ++live_runs_;
  }
}

void Tables::apply_task_data(const TaskDataRow& row) {
  TaskDataRow& kept = task_data_[row.id];
  kept.id = row.id;
  kept.epoch = row.epoch;
  if (row.checkpoint) kept.checkpoint = row.checkpoint;
  if (row.outputs) kept.outputs = row.outputs;
  if (row.uploaded) kept.uploaded = row.uploaded;
  if (kept.uploaded && kept.uploaded->number == 0) kept.uploaded.reset();
}

void Tables::forget(std::span<const RunId> runs) {
  for (const RunId run : runs) {
    const auto found = runs_.find(run);
    if (found == runs_.end() || found->second.state == RunState::kRunning) continue;
    runs_.erase(found);
    doomed_.insert(run);
  }
}

std::vector<ExpiredRun> Tables::expirable(const RunRetention& keep, Instant now) const {
  std::vector<const RunRow*> finished;
  for (const auto& [id, row] : runs_) {
    if (row.state != RunState::kRunning) finished.push_back(&row);
  }
  std::ranges::stable_sort(finished, {}, &RunRow::finished_at);
  const bool counts = keep.runs_max > 0 && finished.size() > keep.runs_max;
  const std::size_t too_many = counts ? finished.size() - keep.runs_max : 0;
  std::vector<ExpiredRun> expired;
  for (const RunRow* row : finished) {
    const bool too_old = keep.runs_for > Duration{} && row->finished_at < now - keep.runs_for;
    if ((!too_old && expired.size() >= too_many) || expired.size() >= keep.at_once) break;
    expired.push_back({row->id, row->request ? row->request->idempotency_key : ""});
  }
  return expired;
}

bool Tables::sweep(std::uint32_t rows) {
  while (!doomed_.empty()) {
    const RunId run = *doomed_.begin();
    rows -= sweep_run(run, rows);
    if (rows == 0) return true;
    doomed_.erase(run);
  }
  return false;
}

std::uint32_t Tables::sweep_run(RunId run, std::uint32_t budget) {
  std::uint32_t left = budget;
  const auto sweep_table = [&left](auto& table, auto at, const auto& is_of_run) {
    while (left > 0 && at != table.end() && is_of_run(at->first)) at = table.erase(at), --left;
  };
  const auto of_task = [run](const TaskId& id) { return id.run == run; };
  const auto of_attempt = [run](const Attempt& attempt) { return attempt.task.run == run; };
  const TaskId first{run, 0};
  sweep_table(attempts_, attempts_.lower_bound({first, {}}), of_attempt);
  sweep_table(task_data_, task_data_.lower_bound(first), of_task);
  sweep_table(dead_letters_, dead_letters_.lower_bound({first, {}}), of_attempt);
  for (auto at = recovery_items_.begin(); left > 0 && at != recovery_items_.end();) {
    at->first.second.run == run ? void((at = recovery_items_.erase(at), --left)) : void(++at);
  }
  sweep_table(signals_, signals_.lower_bound({run, 0}),
              [run](const auto& key) { return key.first == run; });
  sweep_table(tasks_, tasks_.lower_bound(first), of_task);
  return budget - left;
}

StoreImage Tables::image() const {
  StoreImage image;
  image.counters = counters_;
  for (const auto& [id, run] : runs_) {
    if (run.state == RunState::kRunning) image.runs.push_back(*run_image(id));
    if (run.request && !run.request->idempotency_key.empty()) {
      image.keys.push_back({run.request->idempotency_key, id, run.request->digest});
    }
  }
  for (const auto& [id, row] : workers_) image.workers.push_back(row);
  for (const auto& [id, row] : machines_) image.machines.push_back(row);
  for (const auto& [id, row] : leases_) image.leases.push_back(row);
  for (const auto& [id, row] : queues_) image.queues.push_back(row);
  for (const auto& [name, row] : limits_) image.limits.push_back(row);
  for (const auto& [id, row] : journals_) image.journals.push_back(row);
  for (const auto& [dag, row] : schedules_) image.schedules.push_back(row);
  for (const auto& [id, row] : dead_letters_) {
    const bool kept = !doomed_.contains(row.attempt.task.run);
    if (row.state == DeadLetterState::kOpen && kept) image.dead_letters.push_back(row);
  }
  return image;
}

std::optional<RunImage> Tables::run_image(RunId run) const {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return std::nullopt;
  RunImage image{.run = found->second, .tasks = {}, .data = {}, .signals = {}};
  for (auto it = tasks_.lower_bound({run, 0}); it != tasks_.end() && it->first.run == run; ++it) {
    image.tasks.push_back(it->second);
    const auto data = task_data_.find(it->first);
    if (data == task_data_.end()) continue;
    if (it->second.state == TaskState::kCompleted) {
      const DagPlan& plan = *image.run.plan;
      const bool read = it->first.index < plan.tasks && plan.is_read(it->first.index);
      if (read && data->second.outputs) {
        image.data.push_back(
            {.id = it->first, .epoch = data->second.epoch, .outputs = data->second.outputs});
      }
      continue;
    }
    if (data->second.checkpoint || data->second.uploaded) image.data.push_back(data->second);
  }
  for (auto it = signals_.lower_bound({run, 0}); it != signals_.end() && it->first.first == run;
       ++it) {
    image.signals.push_back(it->second);
  }
  return image;
}

}  // namespace vortex::sim
