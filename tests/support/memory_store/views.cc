#include "tests/support/memory_store/views.h"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "store/row_json.h"

namespace vortex::store::memory {
namespace {

bool has_labels(const RunRow& run, const Labels& wanted) {
  if (wanted.empty()) return true;
  if (!run.request) return false;
  return std::ranges::all_of(wanted, [&](const auto& label) {
    return std::ranges::find(run.request->labels, label) != run.request->labels.end();
  });
}

bool fits(const RunRow& run, const RunFilter& filter) {
  return (!filter.state || run.state == *filter.state) &&
         (filter.dag.empty() || run.plan->spec.name == filter.dag) &&
         has_labels(run, filter.labels) &&
         (filter.parent.value == 0 || (run.request && run.request->parent == filter.parent)) &&
         (filter.params.empty() ||
          (run.request && has_members(run.request->params, filter.params)));
}

bool fits(const StoredTask& task, const TaskFilter& filter) {
  const TaskRow& row = task.row;
  return (!filter.run || row.id.run == *filter.run) &&
         (!filter.state || row.state == *filter.state) &&
         (!filter.node || task.name == *filter.node) &&
         (!filter.worker || (row.worker == *filter.worker && is_held(row.state)));
}

bool fits(const WorkerRow& row, const WorkerFilter& filter) {
  const WorkerInfo& info = *row.info;
  return (!filter.state || row.state == *filter.state) &&
         (filter.zone.empty() || info.zone == filter.zone) &&
         (filter.group.empty() || info.group == filter.group) &&
         (filter.machine.empty() || info.machine.text == filter.machine) &&
         (!filter.live_only || is_present(row.state)) &&
         (!filter.active_only || is_active(row.state));
}

}  // namespace

RunView view_of(const RunRow& row) {
  RunView view;
  static_cast<RunRow&>(view) = row;
  view.plan = nullptr;
  view.dag = row.plan->spec.name;
  view.dag_digest = row.plan->digest;
  view.levels = row.plan->levels;
  view.tasks = row.plan->base->tasks + late_tasks(row.late);
  return view;
}

WorkerView view_of(const Tables& tables, const WorkerRow& row) {
  WorkerView view;
  view.row = row;
  for (const auto& [id, task] : tables.tasks) {
    if (task.row.worker == row.info->id && is_held(task.row.state) && !tables.is_doomed(id)) {
      ++view.held;
    }
  }
  const auto ends = tables.worker_ends.find(row.info->id);
  if (ends == tables.worker_ends.end()) return view;
  view.completed = ends->second.completed;
  view.ended = ends->second.ended;
  return view;
}

LogText text_of(const StoredLog& log, const LogRequest& request) {
  const LogWindow window = window_of(log.span, request);
  LogText text;
  text.offset = window.begin;
  text.next_offset = window.next;
  text.skipped = window.next - window.end;
  text.size = log.span.size;
  const bool in_tail = log.span.has_cut() && window.begin >= log.span.cut_end;
  const std::string& part = in_tail ? log.tail : log.head;
  const std::uint64_t base = in_tail ? log.span.cut_end : 0;
  if (window.end > window.begin)
    text.data = part.substr(window.begin - base, window.end - window.begin);
  return text;
}

std::vector<RunView> runs_in(const Tables& tables, const RunFilter& filter) {
  std::vector<RunView> views;
  for (const auto& [id, run] : std::views::reverse(tables.runs)) {
    if (fits(run, filter)) views.push_back(view_of(run));
  }
  return views;
}

std::vector<TaskView> tasks_in(const Tables& tables, const TaskFilter& filter) {
  std::vector<TaskView> views;
  for (const auto& [id, task] : tables.tasks) {
    if (fits(task, filter) && !tables.is_doomed(id)) views.push_back({task.row, task.name});
  }
  return views;
}

RunMarks marks_in(const Tables& tables, const TaskSpan& span) {
  RunMarks marks;
  const auto found = tables.runs.find(span.run);
  if (found == tables.runs.end()) return marks;
  const RunRow& run = found->second;
  marks.is_there = true;
  marks.state = run.state;
  marks.ending = run.ending;
  marks.paused = run.paused;
  marks.levels_passed = run.levels_passed;
  marks.made = run.made;
  for (auto at = tables.tasks.lower_bound({.run = span.run, .index = span.first, .level = 0});
       at != tables.tasks.end() && at->first.run == span.run && at->first.index < span.end; ++at) {
    const TaskRow& row = at->second.row;
    marks.tasks.push_back(
        {row.id.index, row.state, row.epoch, is_held(row.state) ? row.worker.text : std::string()});
  }
  return marks;
}

std::vector<WorkerView> workers_in(const Tables& tables, const WorkerFilter& filter) {
  std::vector<WorkerView> views;
  for (const auto& [id, row] : tables.workers) {
    if (fits(row, filter)) views.push_back(view_of(tables, row));
  }
  return views;
}

std::vector<RecoveryView> recoveries_in(const Tables& tables, const RecoveryFilter& filter) {
  std::vector<RecoveryView> views;
  if (filter.task && tables.is_doomed(*filter.task)) return views;
  for (const auto& [id, row] : std::views::reverse(tables.recoveries)) {
    if (filter.worker && row.worker != *filter.worker) continue;
    if (filter.task && !tables.recovery_items.contains({id, *filter.task})) continue;
    views.push_back({row});
  }
  return views;
}

std::vector<RecoveryItemRow> items_in(const Tables& tables, RecoveryId recovery) {
  std::vector<RecoveryItemRow> rows;
  for (const auto& [key, row] : tables.recovery_items) {
    if (key.first != recovery || tables.is_doomed(row.task)) continue;
    rows.push_back(row);
    rows.back().task = tables.shown(row.task);
  }
  return rows;
}

std::vector<DeadLetterView> letters_in(const Tables& tables, const DeadLetterFilter& filter) {
  std::vector<DeadLetterView> views;
  for (const auto& [attempt, row] : tables.dead_letters) {
    if (filter.state && row.state != *filter.state) continue;
    if (filter.run && attempt.task.run != *filter.run) continue;
    if (tables.is_doomed(attempt.task)) continue;
    DeadLetterView& view = views.emplace_back();
    view.row = row;
    view.row.attempt.task = tables.shown(attempt.task);
    view.level = view.row.attempt.task.level;
    const auto task = tables.tasks.find(attempt.task);
    if (task != tables.tasks.end()) view.name = task->second.name;
    const auto run = tables.runs.find(attempt.task.run);
    if (run != tables.runs.end()) view.dag = run->second.plan->spec.name;
  }
  std::ranges::sort(views, std::greater{}, [](const DeadLetterView& view) {
    return std::tuple(view.row.at, view.row.attempt);
  });
  return views;
}

std::vector<DagView> dags_in(const Tables& tables) {
  std::vector<DagView> views;
  for (const auto& [name, dag] : tables.dags) {
    const DagPlan& plan = *tables.specs.at(dag.digest).plan;
    DagView& view = views.emplace_back();
    view.name = name;
    view.updated_at = dag.updated_at;
    view.digest = dag.digest;
    view.nodes = static_cast<std::uint32_t>(plan.nodes.size());
    view.tasks = plan.tasks;
  }
  return views;
}

}  // namespace vortex::store::memory
