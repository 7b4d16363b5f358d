#include "tests/store/world.h"

#include <iterator>

#include <fmt/format.h>

#include "tests/store/rows.h"

namespace vortex::store::testing {
namespace {

// A run and the counts of its tasks are written together.
void count_tasks(RunRow& run, const std::map<std::uint32_t, TaskRow>& tasks) {
  run.made = {};
  for (const auto& [index, task] : tasks) ++run.made[number_of(task.state)];
}

bool has_open_tasks(const RunRow& run) {
  std::uint64_t open = 0;
  for (std::size_t state = 0; state < kTaskStates; ++state) {
    if (!is_final(static_cast<TaskState>(state))) open += run.made[state];
  }
  return open > 0;
}

}  // namespace

World::World(std::uint64_t seed) : rng_(seed), now_(kT0) {
  plans_ = {sample_plan("thumbs", 3), sample_plan("thumbs", 5), sample_plan("report", 2),
            late_plan("late")};
}

Commit World::next(Term term) {
  using Step = void (World::*)(Commit&);
  static constexpr Step kSteps[] = {
      &World::change_run,  &World::change_task,  &World::change_task,   &World::change_task,
      &World::end_attempt, &World::keep_data,    &World::change_worker, &World::recover,
      &World::bury,        &World::change_small, &World::print_output,  &World::tell_events,
      &World::expire};
  now_ = now_ + millis(rng_.between(1, 600'000));
  Commit commit;
  commit.term = term;
  commit.now = now_;
  if (runs_.size() < 2 || rng_.chance(300)) make_run(commit);
  for (std::uint64_t i = rng_.below(8); i > 0; --i) {
    if (runs_.empty()) make_run(commit);
    (this->*kSteps[rng_.below(std::size(kSteps))])(commit);
  }
  // One that was still live when it was chosen may have finished later in the same commit.
  for (const RunId run : commit.expired) forget_if_finished(run.value);
  return commit;
}

Commit World::unacceptable(Term term) {
  Commit commit;
  commit.term = term;
  commit.now = now_;
  commit.rows.queues.push_back({.name = "must-not-appear", .paused = true});
  switch (rng_.below(5)) {
    case 0:
      commit.term = term.next();
      break;
    case 1:
      commit.logs.push_back({.attempt = {task_id(1, 0), {99}}, .offset = 5, .data = "gap"});
      break;
    case 2:
      commit.rows.runs.push_back(run_row(next_run_ + 7, nullptr));
      break;
    case 3:
      commit.rows.runs.push_back(run_row(next_run_ + 7, plans_[0], "same"));
      commit.rows.runs.push_back(run_row(next_run_ + 8, plans_[0], "same"));
      break;
    default:
      commit.rows.tasks.push_back(
          task_row(run_row(next_run_ + 9, plans_[0]), 0, TaskState::kQueued));
      break;
  }
  return commit;
}

std::vector<Attempt> World::attempts_with_output() const {
  std::vector<Attempt> attempts;
  for (const auto& [attempt, size] : output_) attempts.push_back(attempt);
  return attempts;
}

World::Run& World::any_run() {
  auto it = runs_.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(runs_.size())));
  return it->second;
}

void World::make_run(Commit& commit) {
  Run run;
  const std::uint64_t id = next_run_++;
  run.row = run_row(id, plans_[rng_.below(plans_.size())],
                    rng_.chance(500) ? fmt::format("key-{}", id) : std::string{});
  run.row.created_at = now_;
  if (rng_.chance(300)) run.row.request = nullptr;
  if (rng_.chance(300)) {
    auto request = std::make_shared<RunRequest>();
    request->labels = {{"site", fmt::format("s{}", rng_.below(2))}, {"team", "images"}};
    request->params = fmt::format(R"({{"dir":"/srv","n":{}}})", rng_.below(3));
    if (rng_.chance(300)) {
      request->schedule = "dag-1";
      request->slot = now_;
      if (rng_.chance(500)) request->slot_end = now_ + seconds(1);
    }
    if (rng_.chance(300)) {
      request->parent = {1 + rng_.below(3)};
      request->parent_index = static_cast<std::uint32_t>(rng_.below(9));
      request->parent_epoch = {1 + rng_.below(5)};
      request->parent_task = "load[3]";
    }
    run.row.request = request;
  }
  const auto tasks = static_cast<std::uint32_t>(rng_.between(1, run.row.plan->tasks));
  for (std::uint32_t index = 0; index < tasks; ++index) {
    TaskRow task = task_row(run.row, index, TaskState::kWaiting);
    task.created_at = now_;
    task.updated_at = rng_.chance(500) ? now_ : now_ + millis(1);
    run.tasks[index] = task;
    commit.rows.tasks.push_back(task);
  }
  count_tasks(run.row, run.tasks);
  commit.rows.runs.push_back(run.row);
  runs_.emplace(id, std::move(run));
}

void World::change_run(Commit& commit) {
  Run& run = any_run();
  const RunState state = static_cast<RunState>(rng_.below(4));
  run.row.state = has_open_tasks(run.row) ? RunState::kRunning : state;
  run.row.finished_at = run.row.state == RunState::kRunning ? kNever : now_;
  run.row.ending = static_cast<RunEnding>(rng_.below(3));
  run.row.paused = rng_.chance(300);
  run.row.waits_for_turn = rng_.chance(300);
  run.row.reason = rng_.chance(300) ? "r7 replaced it" : "";
  run.row.levels_passed = static_cast<std::uint32_t>(rng_.below(3));
  run.row.timeout_at = rng_.chance(500) ? kNever : now_ + hours(1);
  run.row.stopped =
      rng_.chance(500) ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{1, 2};
  const bool unmade = run.row.plan->base->late_maps > run.row.plan->late.size();
  if (unmade && rng_.chance(700)) make_map(run.row, static_cast<std::uint32_t>(rng_.below(4)));
  commit.rows.runs.push_back(run.row);
}

void World::change_task(Commit& commit) {
  Run& run = any_run();
  const auto index = static_cast<std::uint32_t>(rng_.below(run.row.plan->tasks));
  const auto drawn = static_cast<TaskState>(rng_.below(kTaskStates));
  const bool lives = run.row.state == RunState::kRunning;
  TaskRow row = task_row(run.row, index, lives || is_final(drawn) ? drawn : TaskState::kFailed);
  const auto known = run.tasks.find(index);
  row.created_at = known == run.tasks.end() ? now_ : known->second.created_at;
  row.updated_at = now_;
  row.epoch = {rng_.below(5)};
  if (is_held(row.state) || rng_.chance(300)) row.worker = WorkerId{worker_name()};
  row.stop = static_cast<StopReason>(rng_.below(5));
  row.counters.failures = static_cast<std::uint16_t>(rng_.below(3));
  row.counters.crashes = static_cast<std::uint16_t>(rng_.below(3));
  row.counters.unstarted = static_cast<std::uint16_t>(rng_.below(60'000));
  if (rng_.chance(300)) row.previous_worker = WorkerId{worker_name()};
  if (rng_.chance(100)) row.level = std::nullopt;
  if (rng_.chance(100)) row.level = static_cast<std::uint32_t>(rng_.below(9));
  row.id.level = row.level.value_or(0);
  row.recovery = {rng_.below(3)};
  row.ready_at = rng_.chance(200) ? kNever : now_;
  row.granted_at = rng_.chance(500) ? kNever : now_;
  row.started_at = rng_.chance(500) ? Instant{} : now_;
  row.percent = static_cast<std::uint8_t>(rng_.below(101));
  row.step = rng_.chance(300) ? "step one" : "";
  row.exit_code = static_cast<std::int32_t>(rng_.between(-2, 255));
  row.error_message = rng_.chance(300) ? "it's broken; really" : "";
  run.tasks[index] = row;
  commit.rows.tasks.push_back(std::move(row));
  count_tasks(run.row, run.tasks);
  commit.rows.runs.push_back(run.row);
}

void World::end_attempt(Commit& commit) {
  const Run& run = any_run();
  const std::uint32_t index = run.tasks.begin()->first;
  AttemptRow row = attempt_row(run.tasks.at(index).id, rng_.below(4), worker_name());
  row.number = static_cast<std::uint32_t>(rng_.below(9));
  row.started_at = rng_.chance(200) ? kNever : now_;
  row.verdict = static_cast<Verdict>(rng_.below(13));
  row.code = static_cast<std::int32_t>(rng_.below(4));
  row.message = rng_.chance(300) ? "killed" : "";
  commit.rows.attempts.push_back(row);
}

void World::keep_data(Commit& commit) {
  const Run& run = any_run();
  TaskDataRow row;
  row.id = run.tasks.begin()->second.id;
  row.epoch = {rng_.below(5)};
  if (rng_.chance(500)) row.checkpoint = fmt::format("at {}", rng_.below(100));
  if (rng_.chance(300)) row.checkpoint = "";
  if (rng_.chance(500)) row.outputs = R"({"n":1})";
  if (rng_.chance(300)) row.uploaded = CheckpointRef{.number = rng_.below(4), .bytes = 7};
  commit.rows.task_data.push_back(row);
  if (rng_.chance(500)) return;
  const std::uint64_t offset = rng_.below(2) * 7;
  commit.pieces.push_back({row.id, 1 + rng_.below(3), offset, 7, fmt::format("piece-{}", offset)});
}

void World::change_worker(Commit& commit) {
  WorkerRow row = worker_row(worker_name(), static_cast<WorkerState>(rng_.below(6)));
  auto info = std::make_shared<WorkerInfo>(*row.info);
  info->zone = fmt::format("zone-{}", rng_.below(2));
  info->labels = {{"gpu", "no"}, {"os", "linux"}};
  info->runtimes = {"python"};
  info->users = {"build"};
  info->resources = {.cpu_milli = 1500, .memory_bytes = 1 << 30, .named = {{"gpu", 2}}};
  row.info = info;
  row.suspect = rng_.chance(300);
  row.cordoned = rng_.chance(300);
  row.last_heartbeat = rng_.chance(200) ? kNever : now_;
  commit.rows.workers.push_back(row);
  if (rng_.chance(500)) {  // the same life again: only a heartbeat
    row.last_heartbeat = now_ + millis(1);
    row.times_lost = static_cast<std::uint32_t>(rng_.below(4));
    row.lost_lately.assign(row.times_lost, now_);
    row.end_told = {rng_.below(9)};
    if (rng_.chance(500)) row.drain_within = millis(rng_.between(0, 9'000));
    row.blame = static_cast<WorkerBlame>(rng_.below(3));
    row.times_blamed = static_cast<std::uint32_t>(rng_.below(4));
    if (row.blame == WorkerBlame::kCordoned) row.probation_at = now_ + seconds(5);
    commit.rows.workers.push_back(row);
  }
  commit.rows.machines.push_back({MachineId{"machine-1"}, rng_.chance(500), now_});
}

void World::recover(Commit& commit) {
  const RecoveryId id{rng_.chance(800) || next_recovery_ == 1 ? next_recovery_++
                                                              : next_recovery_ - 1};
  commit.rows.recoveries.push_back({.id = id,
                                    .worker = WorkerId{worker_name()},
                                    .incarnation = {rng_.below(4)},
                                    .evidence = static_cast<Evidence>(rng_.below(7)),
                                    .num_tasks = static_cast<std::uint32_t>(rng_.below(9)),
                                    .at = now_});
  for (const auto& [index, task] : any_run().tasks) {
    commit.rows.recovery_items.push_back({.recovery = id,
                                          .task = task.id,
                                          .old_epoch = {1},
                                          .new_epoch = {2},
                                          .old_worker = WorkerId{worker_name()},
                                          .new_worker = WorkerId{rng_.chance(500) ? "new" : ""},
                                          .attempts = 3});
  }
}

void World::bury(Commit& commit) {
  const Run& run = any_run();
  DeadLetterRow row = letter_row(run.tasks.begin()->second.id, now_);
  row.attempt.epoch = {rng_.below(3)};
  row.reason = static_cast<DeathReason>(rng_.below(6));
  row.state = static_cast<DeadLetterState>(rng_.below(3));
  commit.rows.dead_letters.push_back(row);
}

void World::change_small(Commit& commit) {
  commit.rows.leases.push_back({.partition = {rng_.chance(500) ? "orders" : "mail",
                                              static_cast<std::uint32_t>(rng_.below(5))},
                                .holder = AgentId{rng_.chance(500) ? "agent" : ""},
                                .epoch = {rng_.below(9)},
                                .expires_at = now_});
  commit.rows.queues.push_back({fmt::format("queue-{}", rng_.below(3)), rng_.chance(500)});
  commit.rows.journals.push_back({.supervisor = fmt::format("host/s{}", rng_.below(3)),
                                  .journal = fmt::format("j{}", rng_.below(2)),
                                  .last = rng_.below(100),
                                  .at = now_,
                                  .forgotten = rng_.chance(200)});
  commit.tokens.push_back({.name = fmt::format("token-{}", rng_.below(3)),
                           .role = static_cast<Role>(rng_.below(5)),
                           .hash = "abc",
                           .created_at = now_,
                           .revoked = rng_.chance(300)});
  commit.audit.push_back({.seq = static_cast<std::uint64_t>(now_.us),
                          .at = now_,
                          .who = rng_.chance(500) ? "ann" : "",
                          .address = "10.0.0.7",
                          .operation = rng_.chance(500) ? "submit_run" : "drain_worker",
                          .target = "r1",
                          .status = rng_.chance(500) ? 201U : 403U,
                          .code = {},
                          .count = 1 + rng_.below(9)});
  change_webhooks(commit);
  change_secrets(commit);
  commit.dags.push_back({.name = fmt::format("dag-{}", rng_.below(3)),
                         .plan = plans_[rng_.below(plans_.size())],
                         .updated_at = now_,
                         .deleted = rng_.chance(300)});
  commit.rows.schedules.push_back({.dag = fmt::format("dag-{}", rng_.below(3)),
                                   .plan = plans_[rng_.below(plans_.size())],
                                   .paused = static_cast<SchedulePause>(rng_.below(3)),
                                   .failed_run = {rng_.below(9)},
                                   .decided = now_,
                                   .waiting = {now_, now_ + seconds(1)},
                                   .last_run = {rng_.below(9)},
                                   .last_slot = rng_.chance(500) ? now_ : kNever,
                                   .applied_at = now_,
                                   .applied_by = rng_.chance(500) ? "ann" : "",
                                   .removed = rng_.chance(300)});
  commit.rows.limits.push_back(
      {.name = fmt::format("limit-{}", rng_.below(3)),
       .slots = static_cast<std::uint32_t>(rng_.below(9)),
       .rate = static_cast<std::uint32_t>(rng_.below(9)),
       .window = rng_.chance(500) ? std::optional(minutes(1)) : std::nullopt,
       .newest = rng_.chance(500) ? now_ : kNever,
       .granted =
           rng_.chance(500) ? std::vector<std::uint32_t>{3, 0, 1} : std::vector<std::uint32_t>{},
       .set_at = now_,
       .set_by = rng_.chance(500) ? "ann" : "",
       .removed = rng_.chance(300)});
  CounterRow counters;
  counters.next_run = {next_run_};
  for (auto& count : counters.tasks) count = rng_.below(1'000);
  commit.rows.counters = counters;
}

// A step may be of one that was made anew or is gone: it must change nothing then.
void World::change_webhooks(Commit& commit) {
  const std::string name = fmt::format("hook-{}", rng_.below(3));
  if (rng_.chance(300)) {
    commit.webhooks.push_back({.name = name,
                               .url = "http://receiver/",
                               .kinds = "run_complete",
                               .dag = rng_.chance(500) ? "etl" : "",
                               .secret = "whsec_",
                               .created_at = now_,
                               .progress = {},
                               .deleted = rng_.chance(300)});
    webhook_made_ = now_;
  }
  WebhookStep step{.name = name, .created_at = webhook_made_, .progress = {}};
  step.progress.after = rng_.below(100);
  step.progress.delivered = rng_.below(10);
  step.progress.delivered_at = rng_.chance(500) ? now_ : kNever;
  step.progress.trouble = rng_.chance(500) ? "it answered 503" : "";
  commit.webhook_steps.push_back(std::move(step));
}

// Versions that are gone stay gone, however late their key is wrapped again.
void World::change_secrets(Commit& commit) {
  SecretChange change;
  change.row.name = fmt::format("secret/{}", rng_.below(3));
  change.row.latest = static_cast<std::uint32_t>(1 + rng_.below(4));
  change.row.dag = rng_.chance(500) ? "etl" : "";
  change.row.queue = rng_.chance(500) ? "fast" : "";
  if (rng_.chance(500)) change.row.labels = {{"env", "prod"}};
  change.row.created_at = change.row.updated_at = now_;
  change.row.deleted = rng_.chance(200);
  SecretVersionRow version;
  version.name = change.row.name;
  version.version = change.row.latest;
  version.bytes = static_cast<std::uint32_t>(rng_.below(100));
  version.created_at = now_;
  version.key_id = "k1";
  version.wrapped_key = "wrapped";
  version.sealed = fmt::format("sealed-{}", rng_.below(100));
  version.gone = rng_.chance(300);
  change.versions.push_back(std::move(version));
  commit.secrets.push_back(std::move(change));
  const auto any = static_cast<std::uint32_t>(1 + rng_.below(4));
  commit.rewraps.push_back({fmt::format("secret/{}", rng_.below(3)), any, "k2", "again"});
  commit.webhook_seals.push_back(
      {fmt::format("hook-{}", rng_.below(3)), webhook_made_, "vxs1:sealed"});
}

void World::print_output(Commit& commit) {
  const Run& run = any_run();
  const Attempt attempt{.task = run.tasks.begin()->second.id, .epoch = {rng_.below(2)}};
  std::uint64_t& size = output_[attempt];
  const std::uint64_t offset = size - rng_.below(size + 1) / 4;
  std::string data;
  for (std::uint64_t i = rng_.below(200); i > 0; --i) {
    data.push_back(static_cast<char>('a' + (offset + data.size()) % 26));
  }
  size = std::max(size, offset + data.size());
  commit.logs.push_back({.attempt = attempt, .offset = offset, .data = std::move(data)});
}

void World::tell_events(Commit& commit) {
  if (commit.events.first_seq == 0) commit.events.first_seq = next_event_;
  commit.events.lines += fmt::format("{{\"seq\":{}}}\n", next_event_);
  commit.events.last_seq = next_event_++;
}

void World::expire(Commit& commit) {
  if (runs_.size() < 3) return;
  const std::uint64_t id = any_run().row.id.value;
  // A run of this commit's own lists may be live in them: both stores must look at the last row.
  commit.expired.push_back({id});
  forget_if_finished(id);
}

void World::forget_if_finished(std::uint64_t id) {
  const auto run = runs_.find(id);
  if (run == runs_.end() || run->second.row.state == RunState::kRunning) return;
  std::erase_if(output_, [id](const auto& entry) { return entry.first.task.run.value == id; });
  runs_.erase(run);
}

}  // namespace vortex::store::testing
