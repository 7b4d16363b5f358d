#include "tests/store/rows.h"

#include <stdexcept>

#include "model/states.h"

namespace vortex::store::testing {

namespace {

DagSpec sample_spec(const std::string& name) {
  DagSpec spec;
  spec.name = name;
  for (const char* node : {"list", "resize", "report"}) {
    NodeSpec& added = spec.nodes.emplace_back();
    added.name = node;
    added.command.argv = {"true"};
  }
  spec.nodes[1].needs = {"list"};
  spec.nodes[2].needs = {"resize"};
  return spec;
}

PlanPtr plan_from(DagSpec spec) {
  auto plan = compile(std::move(spec), {});
  if (!plan) throw std::runtime_error(plan.error().detail);
  return *plan;
}

}  // namespace

PlanPtr late_plan(const std::string& name) {
  DagSpec spec = sample_spec(name);
  spec.nodes[1].map.emplace().over = MapOver{"${{ tasks.list.outputs.files }}"};
  return plan_from(std::move(spec));
}

void make_map(RunRow& run, std::uint32_t items) {
  run.plan = lay_out(*run.plan, {.node = 1, .tasks = items});
  run.late = late_counts(*run.plan);
}

PlanPtr sample_plan(const std::string& name, std::int64_t items) {
  DagSpec spec = sample_spec(name);
  spec.nodes[1].map = MapSpec{.over = MapRange{.first = 1, .last = items, .step = 1},
                              .max_parallel = 0,
                              .max_failures = std::nullopt};
  return plan_from(std::move(spec));
}

TaskId task_id(std::uint64_t run, std::uint32_t index) {
  return {.run = {run}, .index = index, .level = 0};
}

RunRow run_row(std::uint64_t id, const PlanPtr& plan, const std::string& key) {
  RunRow row;
  row.id = {id};
  row.plan = plan;
  auto request = std::make_shared<RunRequest>();
  request->labels = {{"team", "images"}};
  request->params = R"({"dir":"/srv"})";
  request->idempotency_key = key;
  request->digest = 77;
  row.request = std::move(request);
  row.created_at = kT0;
  row.finished_at = kNever;
  return row;
}

RunRow finished(RunRow row, Instant at) {
  row.state = RunState::kCompleted;
  row.finished_at = at;
  return row;
}

TaskRow task_row(const RunRow& run, std::uint32_t index, TaskState state) {
  TaskRow row;
  row.node = run.plan->node_of_task(index);
  row.level = run.plan->nodes[row.node].level;
  row.id = {.run = run.id, .index = index, .level = *row.level};
  row.state = state;
  row.created_at = kT0;
  row.updated_at = kT0 + millis(5);
  row.ready_at = kT0;
  if (is_held(state)) {
    row.worker = WorkerId{"worker-1"};
    row.incarnation = {1};
    row.epoch = {1};
    row.counters.attempts = 1;
  }
  return row;
}

AttemptRow attempt_row(TaskId task, std::uint64_t epoch, const std::string& worker) {
  AttemptRow row;
  row.attempt = {.task = task, .epoch = {epoch}};
  row.worker = WorkerId{worker};
  row.incarnation = {1};
  row.granted_at = kT0;
  row.started_at = kT0 + millis(1);
  row.ended_at = kT0 + millis(2);
  return row;
}

WorkerRow worker_row(const std::string& id, WorkerState state) {
  WorkerRow row;
  auto info = std::make_shared<WorkerInfo>();
  info->id = WorkerId{id};
  info->name = id + "-name";
  info->machine = MachineId{"machine-1"};
  info->zone = "zone-a";
  info->group = "group-a";
  row.info = std::move(info);
  row.incarnation = {1};
  row.state = state;
  row.registered_at = kT0;
  row.last_heartbeat = kT0 + seconds(1);
  return row;
}

DeadLetterRow letter_row(TaskId task, Instant at) {
  DeadLetterRow row;
  row.attempt = {.task = task, .epoch = {1}};
  row.at = at;
  row.message = "exit code 3";
  return row;
}

void add_run(RowBatch& rows, RunRow run, TaskState state) {
  run.made = {};
  run.made[number_of(state)] = run.plan->tasks;
  for (std::uint32_t index = 0; index < run.plan->tasks; ++index) {
    rows.tasks.push_back(task_row(run, index, state));
  }
  rows.runs.push_back(std::move(run));
}

}  // namespace vortex::store::testing
