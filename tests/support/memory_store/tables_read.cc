#include <algorithm>
#include <limits>
#include <utility>

#include "tests/support/memory_store/tables.h"

namespace vortex::store::memory {
namespace {

// Removes from `table` what belongs to the run, at most `budget` entries; gives how many.
template <class Map, class KeyOfRun>
std::uint32_t remove_of_run(Map& table, std::uint32_t budget, KeyOfRun is_of_run) {
  std::uint32_t removed = 0;
  for (auto it = table.begin(); it != table.end() && removed < budget;) {
    if (is_of_run(it->first)) {
      it = table.erase(it);
      ++removed;
    } else {
      ++it;
    }
  }
  return removed;
}

}  // namespace

std::optional<RunImage> Tables::run_image(RunId run) const {
  const auto found = runs.find(run);
  if (found == runs.end()) return std::nullopt;
  RunImage image;
  image.run = found->second;
  if (auto laid_out = laid_out_again(image.run.plan, image.run.late)) {
    image.run.plan = *std::move(laid_out);
  }
  if (!image.run.request) image.run.request = std::make_shared<const RunRequest>();
  const TaskId first{.run = run, .index = 0, .level = 0};
  for (auto it = tasks.lower_bound(first); it != tasks.end() && it->first.run == run; ++it) {
    image.tasks.push_back(it->second.row);
    const auto data = task_data.find(it->first);
    if (data == task_data.end()) continue;
    if (it->second.row.state == TaskState::kCompleted) {
      const bool read = image.run.plan->is_read(it->second.row.id.index);
      if (read && data->second.outputs) {
        image.data.push_back({.id = it->second.row.id,
                              .epoch = data->second.epoch,
                              .outputs = data->second.outputs});
      }
      continue;
    }
    if (!data->second.checkpoint) continue;
    image.data.push_back({.id = it->second.row.id,
                          .epoch = data->second.epoch,
                          .checkpoint = data->second.checkpoint,
                          .outputs = std::nullopt,
                          .uploaded = data->second.uploaded});
  }
  if (image.run.plan->asking.empty()) return image;
  for (auto it = signals.lower_bound({run, 0}); it != signals.end() && it->first.first == run;
       ++it) {
    image.signals.push_back(it->second);
  }
  return image;
}

// Whatever the row of the run says.
bool Tables::has_open_tasks(RunId run) const {
  for (auto it = tasks.lower_bound({.run = run, .index = 0, .level = 0});
       it != tasks.end() && it->first.run == run; ++it) {
    if (!is_final(it->second.row.state)) return true;
  }
  return false;
}

StoreImage Tables::image() const {
  StoreImage image;
  image.counters = counters;
  for (const auto& [id, run] : runs) {
    if (run.state == RunState::kRunning || has_open_tasks(id)) {
      image.runs.push_back(*run_image(id));
    }
    if (run.request && !run.request->idempotency_key.empty()) {
      image.keys.push_back({run.request->idempotency_key, id, run.request->digest});
    }
  }
  for (const auto& [id, row] : workers) image.workers.push_back(row);
  for (const auto& [id, row] : machines) image.machines.push_back(row);
  for (const auto& [id, row] : leases) image.leases.push_back(row);
  for (const auto& [id, row] : queues) image.queues.push_back(row);
  for (const auto& [name, row] : named_limits) image.limits.push_back(row);
  for (const auto& [id, row] : journals) image.journals.push_back(row);
  for (const auto& [dag, row] : schedules) {
    if (row.plan->spec.schedule) image.schedules.push_back(row);
  }
  for (const auto& [attempt, row] : dead_letters) {
    if (row.state != DeadLetterState::kOpen || is_doomed(attempt.task)) continue;
    image.dead_letters.push_back(row);
    image.dead_letters.back().attempt.task = shown(attempt.task);
  }
  return image;
}

std::vector<ExpiredRun> Tables::expirable(const Retention& keep, Instant now,
                                          std::uint32_t limit) const {
  std::vector<const RunRow*> finished;
  for (const auto& [id, run] : runs) {
    if (run.state != RunState::kRunning) finished.push_back(&run);
  }
  // A run that says it never finished sorts first, as an unknown time does in SQL.
  const auto order = [](const RunRow* run) {
    constexpr Instant kFirst{std::numeric_limits<std::int64_t>::min()};
    return std::pair(run->finished_at == kNever ? kFirst : run->finished_at, run->id);
  };
  std::ranges::sort(finished, {}, order);
  std::uint64_t too_many = 0;
  if (keep.runs_max > 0 && finished.size() > keep.runs_max)
    too_many = finished.size() - keep.runs_max;
  std::vector<ExpiredRun> expired;
  for (const RunRow* run : finished) {
    if (expired.size() == limit) break;
    const bool too_old = keep.runs_for > Duration{} && run->finished_at < now - keep.runs_for;
    if (!too_old && expired.size() >= too_many) break;
    expired.push_back({run->id, run->request ? run->request->idempotency_key : std::string{}});
  }
  return expired;
}

bool Tables::sweep(const Retention& keep, Instant now, std::uint32_t rows) {
  std::uint32_t left = std::max(rows, std::uint32_t{1});
  while (left > 0 && !doomed.empty()) {
    const RunId run = *doomed.begin();
    const auto of_attempt = [run](const Attempt& key) { return key.task.run == run; };
    const auto of_task = [run](const TaskId& key) { return key.run == run; };
    const auto of_item = [run](const auto& key) { return key.second.run == run; };
    left -= remove_of_run(logs, left, of_attempt);
    left -=
        remove_of_run(pieces, left, [run](const auto& key) { return std::get<0>(key).run == run; });
    left -= remove_of_run(attempts, left, of_attempt);
    left -= remove_of_run(task_data, left, of_task);
    left -= remove_of_run(dead_letters, left, of_attempt);
    left -= remove_of_run(recovery_items, left, of_item);
    left -= remove_of_run(signals, left, [run](const auto& key) { return key.first == run; });
    left -= remove_of_run(tasks, left, of_task);
    if (left > 0) doomed.erase(run);
  }
  while (left > 0 && keep.events_for > Duration{} && !events.empty() &&
         events.begin()->second.at < now - keep.events_for) {
    events.erase(events.begin());
    --left;
  }
  while (left > 0 && keep.recoveries_for > Duration{} && !recoveries.empty() &&
         recoveries.begin()->second.at < now - keep.recoveries_for) {
    const RecoveryId oldest = recoveries.begin()->first;
    const auto is_old = [oldest](const auto& key) { return key.first <= oldest; };
    left -= remove_of_run(recovery_items, left, is_old);
    if (left == 0) break;
    recoveries.erase(recoveries.begin());
    --left;
  }
  while (left > 0 && keep.audit_for > Duration{} && !audit.empty() &&
         audit.begin()->second.at < now - keep.audit_for) {
    audit.erase(audit.begin());
    --left;
  }
  return left == 0;
}

}  // namespace vortex::store::memory
