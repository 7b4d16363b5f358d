#include "bench/store/lives.h"

#include <array>

#include <fmt/format.h>

#include "base/assert.h"

namespace vortex::bench {
namespace {

const std::array<WorkerId, 4> kWorkers{WorkerId{"worker-000001"}, WorkerId{"worker-000002"},
                                       WorkerId{"worker-000003"}, WorkerId{"worker-000004"}};

const WorkerId& worker_of(std::uint32_t index) { return kWorkers[index % kWorkers.size()]; }

}  // namespace

PlanPtr wide_plan(std::uint32_t tasks) {
  DagSpec spec;
  spec.name = "bench";
  NodeSpec& node = spec.nodes.emplace_back();
  node.name = "resize-image";
  node.command.argv = {"true"};
  node.map = MapSpec{.over = MapRange{.first = 1, .last = tasks, .step = 1},
                     .max_parallel = 0,
                     .max_failures = std::nullopt};
  auto plan = compile(std::move(spec), {.tasks_max = tasks});
  VX_ASSERT(plan.has_value());
  return *plan;
}

Lives::Lives(PlanPtr plan, Term term) : plan_(std::move(plan)), term_(term) {
  run_.id = {1};
  run_.plan = plan_;
  run_.request = std::make_shared<RunRequest>();
  run_.created_at = now_;
  run_.finished_at = kNever;
  counters_.next_run = {2};
}

Commit Lives::start() {
  now_ = now_ + millis(1);
  Commit commit;
  commit.term = term_;
  commit.now = now_;
  return commit;
}

Commit Lives::submit() {
  Commit commit = start();
  commit.rows.runs.push_back(run_);
  for (const WorkerId& worker : kWorkers) {
    WorkerRow& row = commit.rows.workers.emplace_back();
    auto info = std::make_shared<WorkerInfo>();
    info->id = worker;
    info->name = worker.text;
    row.info = std::move(info);
    row.incarnation = {1};
    row.state = WorkerState::kRunning;
    row.registered_at = now_;
    row.last_heartbeat = now_;
  }
  return commit;
}

TaskRow Lives::row(std::uint32_t index, TaskState state) const {
  TaskRow row;
  row.id = {.run = run_.id, .index = index, .level = 0};
  row.level = 0;
  row.state = state;
  row.created_at = run_.created_at;
  row.updated_at = now_;
  if (state == TaskState::kQueued) {
    row.created_at = now_;
    row.ready_at = now_;
    return row;
  }
  row.worker = worker_of(index);
  row.epoch = {1};
  row.counters.attempts = 1;
  if (state == TaskState::kScheduled) row.incarnation = {1};
  return row;
}

void Lives::tell(Commit& commit, std::uint32_t index, const char* event, const char* data) {
  if (commit.events.first_seq == 0) commit.events.first_seq = counters_.next_event;
  commit.events.last_seq = counters_.next_event++;
  fmt::format_to(std::back_inserter(commit.events.lines),
                 "{{\"ts\":\"2026-02-22T22:40:00.{:06}Z\",\"level\":\"info\",\"worker_id\":\"{}\","
                 "\"event\":\"{}\",\"task_id\":\"r1-L0-{}\",\"data\":{},\"seq\":{},"
                 "\"run_id\":\"r1\"}}\n",
                 now_.us % 1'000'000, worker_of(index).text, event, index, data,
                 commit.events.last_seq);
}

void Lives::count(Commit& commit, std::uint32_t tasks, TaskState from, TaskState to) {
  if (from != to) {
    run_.made[number_of(from)] -= tasks;
    counters_.tasks[number_of(from)] -= tasks;
  }
  run_.made[number_of(to)] += tasks;
  counters_.tasks[number_of(to)] += tasks;
  commit.rows.runs.push_back(run_);
  commit.rows.counters = counters_;
}

Commit Lives::queue(std::uint32_t first, std::uint32_t end) {
  Commit commit = start();
  for (std::uint32_t index = first; index < end; ++index) {
    commit.rows.tasks.push_back(row(index, TaskState::kQueued));
    tell(commit, index, "task_queued", R"({"queue":"default","priority":0})");
  }
  count(commit, end - first, TaskState::kQueued, TaskState::kQueued);
  return commit;
}

Commit Lives::hand_out(std::uint32_t first, std::uint32_t end) {
  Commit commit = start();
  for (std::uint32_t index = first; index < end; ++index) {
    commit.rows.tasks.push_back(row(index, TaskState::kScheduled));
    tell(commit, index, "task_claimed", R"({"epoch":1,"attempt":1})");
  }
  count(commit, end - first, TaskState::kQueued, TaskState::kScheduled);
  return commit;
}

Commit Lives::complete(std::uint32_t first, std::uint32_t end) {
  Commit commit = start();
  for (std::uint32_t index = first; index < end; ++index) {
    TaskRow task = row(index, TaskState::kCompleted);
    AttemptRow& attempt = commit.rows.attempts.emplace_back();
    attempt.attempt = {.task = task.id, .epoch = task.epoch};
    attempt.worker = task.worker;
    attempt.incarnation = {1};
    attempt.granted_at = now_ - millis(2);
    attempt.started_at = now_ - millis(1);
    attempt.ended_at = now_;
    commit.rows.tasks.push_back(std::move(task));
    tell(commit, index, "task_completed", R"({"epoch":1,"duration_ms":1})");
  }
  count(commit, end - first, TaskState::kScheduled, TaskState::kCompleted);
  return commit;
}

}  // namespace vortex::bench
