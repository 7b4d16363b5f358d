#include "tests/sim/checkers_story.h"

#include <utility>

#include "base/assert.h"

namespace vortex::sim {

NodeSpec node(std::string name, std::vector<std::string> needs, TriggerRule trigger) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.needs = std::move(needs);
  spec.trigger = trigger;
  spec.command.argv = {"true"};
  return spec;
}

DagSpec dag(std::vector<NodeSpec> nodes) {
  DagSpec spec;
  spec.name = "story";
  spec.nodes = std::move(nodes);
  return spec;
}

core::Policy story_policy() {
  core::Policy policy;
  policy.worker_lease = seconds(10);
  policy.partition_lease = seconds(30);
  policy.retry.max_retries = 1;
  policy.crash_limit = 2;
  policy.never_started_limit = 2;
  policy.brake_fleet_min = 4;
  policy.quota.runs = 20;
  return policy;
}

Story::Story() {
  checkers_ = std::make_unique<Checkers>(policy);
  tell(TermBegan{term_, now});
  pass(minutes(1));
}

void Story::tell(const Fact& fact) {
  VX_ASSERT(!finished_);
  checkers_->fact(now, fact);
}

void Story::commit() {
  if (statuses_follow) let_statuses_follow();
  next_.term = term_;
  next_.term_now = now;
  for (const RunId id : changed_runs_) next_.rows.runs.push_back(runs_.at(id));
  for (const TaskId id : changed_tasks_) {
    tasks_.at(id).updated_at = now;
    next_.rows.tasks.push_back(tasks_.at(id));
  }
  for (const WorkerId& id : changed_workers_) next_.rows.workers.push_back(workers_.at(id));
  tell(next_);
  next_ = {};
  changed_runs_.clear();
  changed_tasks_.clear();
  changed_workers_.clear();
  pass(millis(100));
}

void Story::let_statuses_follow() {
  std::map<WorkerId, std::uint32_t> held;
  for (const auto& [id, row] : tasks_) {
    if (is_held(row.state)) ++held[row.worker];
  }
  std::map<MachineId, bool> online;
  for (auto& [id, row] : workers_) {
    online[row.info->machine] |= is_present(row.state);
    const bool active = row.state == WorkerState::kIdle || row.state == WorkerState::kRunning;
    const auto state = held[id] > 0 ? WorkerState::kRunning : WorkerState::kIdle;
    if (active && row.state != state) worker(id).state = state;
  }
  for (const auto& [id, is] : online) {
    const auto [known, is_new] = machines_.try_emplace(id, is);
    if (!is_new && known->second == is) continue;
    known->second = is;
    rows().machines.push_back({id, is, now});
  }
}

RunId Story::submit(const DagSpec& spec, const std::string& key) {
  const auto plan = compile(spec, {});
  VX_ASSERT(plan);
  const RunId id{next_run_++};
  RunRow& row = runs_[id];
  changed_runs_.insert(id);
  row.id = id;
  row.plan = *plan;
  row.created_at = now;
  row.request = std::make_shared<const RunRequest>(RunRequest{{}, {}, key, 0});
  for (std::uint32_t n = 0; n < row.plan->nodes.size(); ++n) {
    if (row.plan->node_spec(n).map) continue;
    const bool ready = row.plan->nodes[n].needs.empty();
    task({id, row.plan->first_task(n)}).state = ready ? TaskState::kQueued : TaskState::kWaiting;
  }
  return id;
}

WorkerId Story::join(const std::string& name, std::uint32_t slots, const std::string& machine) {
  WorkerInfo info;
  info.id = WorkerId(name);
  info.machine = MachineId(machine);
  info.slots = slots;
  WorkerRow& row = workers_[info.id];
  changed_workers_.insert(info.id);
  row.info = std::make_shared<const WorkerInfo>(info);
  row.incarnation = row.incarnation.next();
  row.state = WorkerState::kIdle;
  row.registered_at = now;
  row.last_heartbeat = now;
  return info.id;
}

TaskRow& Story::task(TaskId id) {
  const auto [found, is_new] = tasks_.try_emplace(id);
  changed_tasks_.insert(id);
  if (is_new) {
    const DagPlan& plan = *runs_.at(id.run).plan;
    found->second.id = id;
    found->second.node = plan.node_of_task(id.index);
    found->second.level = plan.nodes[found->second.node].level;
    found->second.epoch = {1};
    found->second.created_at = now;
  }
  return found->second;
}

RunRow& Story::run(RunId id) {
  changed_runs_.insert(id);
  return runs_.at(id);
}

WorkerRow& Story::worker(const WorkerId& id) {
  changed_workers_.insert(id);
  return workers_.at(id);
}

void Story::grant(TaskId id, const WorkerId& to) {
  TaskRow& row = task(id);
  row.state = TaskState::kScheduled;
  row.worker = to;
  row.incarnation = workers_.at(to).incarnation;
  row.granted_at = now;
  ++row.counters.attempts;
}

void Story::start(TaskId id) {
  task(id).state = TaskState::kRunning;
  task(id).started_at = now;
}

void Story::end_attempt(TaskId id, Verdict verdict) {
  const TaskRow& row = task(id);
  AttemptRow& attempt = rows().attempts.emplace_back();
  attempt.attempt = {id, row.epoch};
  attempt.number = row.counters.attempts;
  attempt.worker = row.worker;
  attempt.incarnation = row.incarnation;
  attempt.started_at = row.state == TaskState::kRunning ? row.started_at : kNever;
  attempt.ended_at = now;
  attempt.verdict = verdict;
}

void Story::put_back(TaskId id) {
  TaskRow& row = task(id);
  row.state = TaskState::kQueued;
  row.epoch = row.epoch.next();
  row.previous_worker = std::exchange(row.worker, {});
  row.incarnation = {};
}

void Story::complete(TaskId id) {
  end_attempt(id, Verdict::kCompleted);
  task(id).state = TaskState::kCompleted;
  task(id).worker = {};
}

void Story::fail(TaskId id) {
  end_attempt(id, Verdict::kExitCode);
  ++task(id).counters.failures;
  put_back(id);
}

void Story::die(TaskId id) {
  TaskRow& row = task(id);
  end_attempt(id, Verdict::kExitCode);
  ++row.counters.failures;
  row.state = TaskState::kFailed;
  row.worker = {};
  rows().dead_letters.push_back({{id, row.epoch}, DeathReason::kNotRetryable, {}, now, {}});
}

void Story::cancel(TaskId id) {
  if (is_held(task(id).state)) end_attempt(id, Verdict::kCancelled);
  task(id).state = TaskState::kCancelled;
  task(id).worker = {};
}

void Story::revive(TaskId id) {
  TaskRow& row = task(id);
  rows().dead_letters.push_back(
      {{id, row.epoch}, DeathReason::kNotRetryable, DeadLetterState::kRedriven, now, {}});
  row.counters = {.attempts = row.counters.attempts};
  put_back(id);
  run(id.run).state = RunState::kRunning;
  event(EventKind::kTaskRedriven, id);
}

RecoveryId Story::lose(const WorkerId& id, Evidence evidence) {
  const RecoveryId recovery{next_recovery_++};
  WorkerRow& gone = worker(id);
  std::uint32_t taken = 0;
  for (auto& [task_id, row] : tasks_) {
    if (!is_held(row.state) || row.worker != id) continue;
    const bool blame = row.state == TaskState::kRunning && evidence != Evidence::kOperator &&
                       evidence != Evidence::kGoodbye;
    rows().recovery_items.push_back({recovery, task_id, row.epoch, row.epoch.next(), id, {}, 0});
    end_attempt(task_id, Verdict::kWorkerLost);
    ++(blame ? row.counters.crashes : row.counters.releases);
    put_back(task_id);
    row.recovery = recovery;
    ++taken;
  }
  rows().recoveries.push_back({recovery, id, gone.incarnation, evidence, taken, now});
  gone.state = evidence == Evidence::kGoodbye ? WorkerState::kInactive : WorkerState::kOffline;
  return recovery;
}

TaskId Story::running_task(const WorkerId& on, const DagSpec& spec) {
  const TaskId id{submit(spec), 0};
  grant(id, on);
  commit();
  start(id);
  commit();
  return id;
}

Event& Story::event(EventKind kind, std::optional<TaskId> about) {
  Event& made = next_.events.emplace_back();
  made.at = now;
  made.kind = kind;
  made.task = about;
  return made;
}

std::uint64_t Story::start_process(TaskId id, std::optional<Epoch> epoch) {
  const TaskRow& row = tasks_.at(id);
  tell(ProcessStarted{next_process_, row.worker, row.incarnation, {id, epoch.value_or(row.epoch)}});
  return next_process_++;
}

void Story::hear(const WorkerId& id) {
  tell(WorkerHeard{term_, id, workers_.at(id).incarnation, now});
}

void Story::finish() {
  if (!std::exchange(finished_, true)) checkers_->finish(now);
}

std::set<std::string> Story::broken() {
  finish();
  std::set<std::string> names;
  for (const Violation& violation : checkers_->violations()) names.insert(violation.invariant);
  return names;
}

std::string Story::report() {
  finish();
  std::string text;
  for (const Violation& violation : checkers_->violations()) {
    text += violation.invariant + ": " + violation.detail + "\n";
  }
  return text;
}

}  // namespace vortex::sim
