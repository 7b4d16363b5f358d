#include "sim/clients.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/planted.h"
#include "model/reuse.h"
#include "sim/draw.h"

namespace vortex::sim {

namespace {

constexpr std::uint32_t kUntilTold = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kFewTries = 4;
constexpr std::uint32_t kTended = 150;  // looks of an eager operator

// The first task from a drawn place on that the test likes.
template <class Test>
const TaskRow* find_task(const Tables& tables, std::uint64_t pick, const Test& test) {
  if (tables.tasks().empty()) return nullptr;
  const auto& tasks = tables.tasks();
  auto it = std::next(tasks.begin(), static_cast<std::ptrdiff_t>(pick % tasks.size()));
  for (std::size_t n = 0; n < tasks.size(); ++n, ++it) {
    if (it == tasks.end()) it = tasks.begin();
    if (test(it->second)) return &it->second;
  }
  return &it->second;
}

const DeadLetterRow* find_letter(const Tables& tables, std::uint64_t pick,
                                 std::optional<RunId> of = {}) {
  std::vector<const DeadLetterRow*> open;
  for (const auto& [key, row] : tables.dead_letters()) {
    const bool wanted = !of || row.attempt.task.run == *of;
    if (wanted && row.state == DeadLetterState::kOpen) open.push_back(&row);
  }
  return open.empty() ? nullptr : open[pick % open.size()];
}

}  // namespace

Clients::Clients(Scene& scene, Rng rng)
    : scene_(scene), rng_(rng), forger_(scene.setup.seed * 1000 + 999) {}

void Clients::begin() {
  for (const Act& act : scene_.setup.acts) {
    if (act.dropped) continue;
    const bool submits = act.kind == ActKind::kSubmit || act.kind == ActKind::kSubmitSameKey ||
                         act.kind == ActKind::kSubmitMore;
    if (submits) ++open_submits_;
    scene_.agenda.at(act.at, [this, &act] { perform(act); });
  }
  if (scene_.setup.forges) scene_.agenda.after(millis(100), [this] { forge(); });
}

void Clients::perform(const Act& act) {
  switch (act.kind) {
    case ActKind::kSubmit:
    case ActKind::kSubmitSameKey:
    case ActKind::kSubmitOtherKey:
      return submit(act);
    case ActKind::kCancelRun:
    case ActKind::kPauseRun:
    case ActKind::kPauseQueue:
    case ActKind::kCancelAny:
    case ActKind::kPauseAny:
      return act_on_run(act);
    case ActKind::kCancelTask:
    case ActKind::kRetryTask:
    case ActKind::kRedrive:
    case ActKind::kDiscard:
      return act_on_task(act);
    case ActKind::kCordon:
    case ActKind::kReset:
    case ActKind::kDrain:
    case ActKind::kDrainWithin:
    case ActKind::kDelete:
      return act_on_worker(act);
    case ActKind::kCheckAttempt:
      return check_attempt(act);
    case ActKind::kSubmitWrong:
      return submit_wrong(act);
    case ActKind::kMalformed:
      return ask_nonsense(act);
    case ActKind::kSignal:
      return signal(act);
    case ActKind::kAnswer:
      return answer(act);
    case ActKind::kSubmitMore:
      return submit(act);
    case ActKind::kSetLimit:
    case ActKind::kDeleteLimit:
      return act_on_limit(act);
    case ActKind::kRerun:
      return rerun(act);
    case ActKind::kApplyDag:
    case ActKind::kChangeDag:
    case ActKind::kDeleteDag:
    case ActKind::kPauseSchedule:
    case ActKind::kTriggerSchedule:
      return act_on_schedule(act);
  }
}

void Clients::submit(const Act& act) {
  const RunDraft& draft = scene_.setup.drafts[act.draft];
  core::SubmitRun command;
  command.idempotency_key = draft.key;
  command.dag = draft.dag;
  if (scene_.setup.tokens > 1) {
    command.submitted_by = fmt::format("token{}", act.draft % scene_.setup.tokens);
  }
  command.labels = draft.labels;
  const bool other = act.kind == ActKind::kSubmitOtherKey;
  command.params = other ? R"({"other":true})" : "{}";
  if (!draft.dag.params.empty() && !other) command.params = R"({"n":2})";
  if (!draft.params.empty() && !other) command.params = draft.params;
  command.starts_at = draft.starts_at;
  if (act.kind == ActKind::kSubmitMore) {
    command.idempotency_key = fmt::format("{}-{}", draft.key, act.pick);
    // Some do not say what the key of their group is made of.
    command.params = act.pick % 11 == 0 ? "{}" : fmt::format(R"({{"n":{}}})", act.pick % 2);
  }
  // Who has no key and is not answered dares not ask again: that might be a second run.
  const std::uint32_t tries = draft.key.empty() ? 1 : kUntilTold;
  ask(std::move(command), other ? kFewTries : tries, [this, other, &act](const auto* answer) {
    if (!other) --open_submits_;
    if (answer == nullptr) return;
    const auto* yes = std::get_if<core::RunAccepted>(answer);
    if (yes == nullptr) return;
    runs_.push_back(yes->run);
    if (scene_.setup.tended == act.draft && act.kind == ActKind::kSubmit) tend(yes->run, kTended);
  });
}

void Clients::act_on_run(const Act& act) {
  if (act.kind == ActKind::kPauseQueue) {
    return ask(core::PauseQueue{{}, act.pick % 3 == 0 ? "bulk" : "default", act.on}, kFewTries, {});
  }
  if (act.kind == ActKind::kCancelAny || act.kind == ActKind::kPauseAny) return act_on_any(act);
  if (runs_.empty()) return;
  const RunId run = runs_[act.pick % runs_.size()];
  if (act.kind == ActKind::kCancelRun) return ask(core::CancelRun{{}, run}, kFewTries, {});
  ask(core::PauseRun{{}, run, act.on}, kFewTries, {});
}

// Live runs, among them those that are children.
void Clients::act_on_any(const Act& act) {
  std::vector<RunId> live;
  for (const auto& [id, run] : scene_.store.tables().runs()) {
    if (run.state == RunState::kRunning) live.push_back(id);
  }
  if (live.empty()) return;
  const RunId run = live[act.pick % live.size()];
  if (act.kind == ActKind::kCancelAny) return ask(core::CancelRun{{}, run}, kFewTries, {});
  ask(core::PauseRun{{}, run, act.on}, kFewTries, {});
}

void Clients::act_on_task(const Act& act) {
  const Tables& tables = scene_.store.tables();
  if (act.kind == ActKind::kRedrive || act.kind == ActKind::kDiscard) {
    const DeadLetterRow* letter = find_letter(tables, act.pick);
    if (letter == nullptr) return;
    const TaskId task = letter->attempt.task;
    if (act.kind == ActKind::kRedrive)
      return ask(core::RedriveDeadLetter{{}, task, {}}, kFewTries, {});
    return ask(core::DiscardDeadLetter{{}, task}, kFewTries, {});
  }
  const bool cancels = act.kind == ActKind::kCancelTask;
  const TaskRow* row = find_task(tables, act.pick, [&](const TaskRow& task) {
    return cancels ? !is_final(task.state) : task.state == TaskState::kFailed;
  });
  if (row == nullptr) return;
  if (cancels) return ask(core::CancelTask{{}, row->id}, kFewTries, {});
  ask(core::RetryTask{{}, row->id, {}}, kFewTries, {});
}

// Looks often, runs what died again at once and interrupts the run in between.
void Clients::tend(RunId run, std::uint32_t looks) {
  const auto& runs = scene_.store.tables().runs();
  if (looks == 0 || scene_.faults_stopped || !runs.contains(run)) return;
  const DeadLetterRow* letter = find_letter(scene_.store.tables(), rng_.next(), run);
  if (letter != nullptr && rng_.chance(700)) {
    const TaskId task = letter->attempt.task;
    rng_.chance(500) ? ask(core::RedriveDeadLetter{{}, task, {}}, 1, {})
                     : ask(core::RetryTask{{}, task, {}}, 1, {});
  } else if (rng_.chance(runs.at(run).paused ? 700 : 150)) {
    ask(core::PauseRun{{}, run, !runs.at(run).paused}, 1, {});
  }
  const Duration heartbeat = scene_.setup.timings.policy.heartbeat_interval;
  const Duration wait =
      rng_.chance(500) ? rng_.between(micros(100), millis(30)) : share(rng_, heartbeat, 10, 500);
  scene_.agenda.after(wait, [this, run, looks] { tend(run, looks - 1); });
}

void Clients::act_on_worker(const Act& act) {
  const auto& workers = scene_.setup.workers;
  const WorkerId& worker = workers[act.pick % workers.size()].info.id;
  if (act.kind == ActKind::kCordon) {
    return ask(core::CordonWorker{{}, worker, act.on}, kFewTries, {});
  }
  if (act.kind == ActKind::kDrain) return ask(core::DrainWorker{{}, worker}, kFewTries, {});
  if (act.kind == ActKind::kDrainWithin) {
    const Duration within = permille_of(scene_.setup.timings.policy.worker_lease,
                                        static_cast<std::int64_t>(act.pick % 1500));
    return ask(core::DrainWorker{{}, worker, within}, kFewTries, {});
  }
  if (act.kind == ActKind::kDelete) return ask(core::DeleteWorker{{}, worker}, kFewTries, {});
  // Half of those that are declared dead are forgotten as well; whoever is not gone is refused.
  const bool forgets = act.pick % 2 == 0;
  ask(core::ResetWorker{{}, worker}, kFewTries, [this, worker, forgets](const auto* told) {
    if (forgets && told != nullptr) ask(core::DeleteWorker{{}, worker}, kFewTries, {});
  });
}

// The holder of what runs now, or one that held an earlier epoch.
void Clients::check_attempt(const Act& act) {
  const TaskRow* row = find_task(scene_.store.tables(), act.pick,
                                 [](const auto& task) { return is_held(task.state); });
  if (row == nullptr) return;
  Attempt attempt{row->id, row->epoch};
  if (act.pick % 4 == 0 && attempt.epoch.value > 1) --attempt.epoch.value;
  if (act.pick % 16 == 1) ++attempt.epoch.value;
  ask(core::CheckAttempt{{}, attempt}, kFewTries, {});
}

// In the form that outputs of tasks have here.
std::string Clients::payload(std::uint64_t pick) {
  return pick % 4 == 0 ? std::string() : fmt::format(R"({{"v":{}}})", pick % 5);
}

// To a run of which something waits for one, or to any: what it has no wait for is refused.
void Clients::signal(const Act& act) {
  if (runs_.empty()) return;
  const auto& rows = scene_.store.tables().runs();
  std::vector<std::pair<RunId, std::string>> wanted;
  for (const RunId run : runs_) {
    const auto row = rows.find(run);
    if (row == rows.end() || !row->second.plan) continue;
    for (const std::uint32_t node : row->second.plan->asking) {
      const WaitSpec& wait = *row->second.plan->node_spec(node).wait;
      if (wait.kind == WaitKind::kSignal) wanted.emplace_back(run, wait.text);
    }
  }
  core::SignalRun command;
  command.run = runs_[act.pick % runs_.size()];
  command.name = "unheard";
  if (!wanted.empty() && act.pick % 16 != 0) {
    std::tie(command.run, command.name) = wanted[act.pick / 16 % wanted.size()];
  }
  command.data = payload(act.pick / 7);
  if (act.on) command.idempotency_key = fmt::format("signal-{}", act.pick % 64);
  // One without a key may count twice if its answer is lost.
  ask(std::move(command), act.on ? kFewTries : 1, {});
}

void Clients::answer(const Act& act) {
  const Tables& tables = scene_.store.tables();
  std::vector<TaskId> all;
  std::vector<TaskId> open;
  for (const auto& [id, row] : tables.tasks()) {
    const auto run = tables.runs().find(id.run);
    if (run == tables.runs().end() || !run->second.plan) continue;
    const auto& wait = run->second.plan->node_spec(row.node).wait;
    if (!wait || wait->kind != WaitKind::kApproval) continue;
    all.push_back(id);
    if (row.state == TaskState::kQueued) open.push_back(id);
  }
  if (all.empty()) return;
  const bool right = !open.empty() && act.pick % 4 != 0;
  const TaskId task = right ? open[act.pick / 4 % open.size()] : all[act.pick / 4 % all.size()];
  const Role role = act.pick % 8 == 1 ? Role::kSubmitter : Role::kOperator;
  core::AnswerApproval command{{}, task, act.on, role, "boss", {}, {}};
  if (act.on) command.outputs = payload(1 + act.pick / 3 * 4);
  ask(command, kFewTries, [this, command, again = act.pick % 3](const auto* told) {
    if (told == nullptr || again == 0) return;
    core::AnswerApproval more = command;
    if (again == 2) more.approved = !more.approved;
    ask(std::move(more), 1, {});
  });
}

void Clients::act_on_limit(const Act& act) {
  const std::string name = fmt::format("l{}", act.draft);
  if (act.kind == ActKind::kDeleteLimit) return ask(core::DeleteLimit{{}, name, {}}, kFewTries, {});
  core::SetLimit command;
  command.name = name;
  if (act.on || act.pick % 2 == 0) command.slots = 1 + static_cast<std::uint32_t>(act.pick % 3);
  if (!act.on) {
    command.rate = 1 + static_cast<std::uint32_t>(act.pick % 5);
    const Duration lease = scene_.setup.timings.policy.worker_lease;
    command.window = std::max(seconds(1), lease * static_cast<std::int64_t>(1 + act.pick % 7) / 4);
  }
  ask(std::move(command), kUntilTold, {});
}

// In the end nobody waits for people any more.
void Clients::tell_all_that_wait() {
  for (std::uint32_t i = 0; i < scene_.setup.limits; ++i) {
    ask(core::SetLimit{{}, fmt::format("l{}", i), 2, 0, {}, {}}, 3, {});
  }
  const Tables& tables = scene_.store.tables();
  for (const auto& [id, row] : tables.tasks()) {
    if (row.state != TaskState::kQueued) continue;
    const auto run = tables.runs().find(id.run);
    if (run == tables.runs().end() || !run->second.plan) continue;
    const auto& wait = run->second.plan->node_spec(row.node).wait;
    if (!wait || !wait->asks()) continue;
    if (wait->kind == WaitKind::kSignal) {
      ask(core::SignalRun{{}, id.run, wait->text, payload(2)}, 1, {});
    } else {
      ask(core::AnswerApproval{{}, id, true, Role::kAdmin, "boss", {}, payload(3)}, 3, {});
    }
  }
}

void Clients::submit_wrong(const Act& act) {
  core::SubmitRun command;
  DagSpec dag = scene_.setup.drafts[act.draft].dag;
  NodeSpec& first = dag.nodes.front();
  switch (act.pick % 5) {
    case 0:
      first.needs = {"nobody"};
      break;
    case 1:
      first.needs = {first.name};
      break;
    case 2:
      dag.nodes.push_back(first);
      break;
    case 3:
      dag.nodes.clear();
      break;
    default:
      dag.name = "";
      break;
  }
  command.dag = std::move(dag);
  if (act.pick % 3 != 0) command.idempotency_key = fmt::format("wrong-{}", act.pick);
  ask(std::move(command), kFewTries, {});
}

namespace {

// The same params, or one of those that are drawn with another value.
std::string changed_params(const std::string& params) {
  if (params.contains(R"("n":2)")) return R"({"n":4})";
  if (!params.contains(R"("l":[)")) return params;
  // Another list of the same length: each of its items is one letter.
  std::string changed = params;
  for (std::size_t i = changed.find('['); i + 1 < changed.size(); ++i) {
    if (changed[i] >= 'a' && changed[i] <= 'z') changed[i] = changed[i] == 'z' ? 'y' : 'z';
  }
  return changed;
}

TaskStates states_of(const Tables& tables, RunId run, const DagPlan& plan) {
  TaskStates states(plan.tasks);
  for (std::uint32_t i = 0; i < plan.tasks; ++i) {
    const auto row = tables.tasks().find({.run = run, .index = i});
    if (row != tables.tasks().end()) states[i] = row->second.state;
  }
  return states;
}

// As the API gathers them, from what is committed now.
std::shared_ptr<const KeptResults> results_of(const Tables& tables, const RunRow& earlier,
                                              const RunFacts& now,
                                              const std::vector<std::uint32_t>& again) {
  const PlanPtr plan = *laid_out_again(unexpanded(earlier.plan), earlier.late);
  RunFacts then{.plan = plan, .params = earlier.request->params};
  then.slot = earlier.request->slot;
  then.slot_end = earlier.request->slot_end;
  auto kept = std::make_shared<KeptResults>();
  kept->run = earlier.id;
  for (const KeptMatch& match :
       match_kept(now, then, states_of(tables, earlier.id, *plan), again)) {
    KeptNode& node = kept->nodes.emplace_back();
    node.node = match.node;
    const std::uint32_t first = plan->first_task(match.earlier);
    for (std::uint32_t i = 0; i < plan->tasks_of(match.earlier); ++i) {
      const TaskId id{earlier.id, first + i, plan->nodes[match.earlier].level};
      const auto data = tables.task_data().find(id);
      const bool any = data != tables.task_data().end() && data->second.outputs;
      node.tasks.push_back({to_text(id), any ? *data->second.outputs : std::string()});
    }
  }
  // The rest of what is kept then stands behind a task that runs again.
  if (planted(PlantedBug::kKeptBehindRerun) && kept->nodes.size() > 1) {
    kept->nodes.erase(kept->nodes.begin());
  }
  return kept;
}

}  // namespace

// Of any run that there is: finished, under way, or a rerun itself.
void Clients::rerun(const Act& act) {
  const core::Policy& policy = scene_.setup.timings.policy;
  const auto limited = [](const core::Quota& quota) { return quota.runs + quota.tasks > 0; };
  // Quotas are drawn for the runs that are drawn.
  if (runs_.empty() || limited(policy.quota) || limited(policy.quota_per_token)) return;
  const Tables& tables = scene_.store.tables();
  const auto row = tables.runs().find(runs_[act.pick % runs_.size()]);
  if (row == tables.runs().end() || !row->second.plan || !row->second.request) return;
  const RunRow& earlier = row->second;
  const PlanPtr plan = unexpanded(earlier.plan);
  core::SubmitRun command;
  command.dag = plan;
  command.params =
      act.pick / 7 % 3 == 0 ? changed_params(earlier.request->params) : earlier.request->params;
  command.labels = earlier.request->labels;
  command.idempotency_key = fmt::format("again-{}", act.pick);
  std::vector<std::uint32_t> again;
  if (!act.on) again.push_back(static_cast<std::uint32_t>(act.pick / 64 % plan->nodes.size()));
  RunFacts now{.plan = plan, .params = command.params};
  if (planted(PlantedBug::kKeptDespiteParams)) now.params = earlier.request->params;
  command.kept = results_of(tables, earlier, now, again);
  ask(std::move(command), kUntilTold, [this](const auto* answer) {
    const auto* yes = answer ? std::get_if<core::RunAccepted>(answer) : nullptr;
    if (yes != nullptr) runs_.push_back(yes->run);
  });
}

void Clients::act_on_schedule(const Act& act) {
  DagSpec dag = scene_.setup.drafts[act.draft].dag;
  const bool unknown = act.pick % 16 == 0;
  const std::string name = unknown ? "nobody" : dag.name;
  if (act.kind == ActKind::kDeleteDag) return ask(core::DeleteDag{{}, dag.name}, kFewTries, {});
  if (act.kind == ActKind::kPauseSchedule) {
    return ask(core::PauseSchedule{{}, name, act.on}, kFewTries, {});
  }
  if (act.kind == ActKind::kTriggerSchedule) {
    return ask(core::TriggerSchedule{{}, name, act.on, fmt::format("now-{}", act.pick)}, kUntilTold,
               [this](const auto* answer) {
                 const auto* yes = answer ? std::get_if<core::RunAccepted>(answer) : nullptr;
                 if (yes != nullptr) runs_.push_back(yes->run);
               });
  }
  if (act.kind == ActKind::kChangeDag && act.on) {
    dag.schedule->every = dag.schedule->every + seconds(1);
    if (act.pick % 2 == 0) dag.schedule->overlap = Overlap::kQueueAll;
  }
  auto plan = compile(std::move(dag), {});
  if (plan) ask(core::ApplyDag{{}, *plan}, kFewTries, {});
}

// A second worker that may call everything a worker may, and knows all that can be read: it speaks
// in the present life of another, with no session or a guessed one.
void Clients::forge() {
  if (scene_.faults_stopped) return;
  const Duration beat = scene_.setup.timings.policy.heartbeat_interval;
  scene_.agenda.after(forger_.between(beat / 4, beat * 3), [this] { forge(); });
  const auto& workers = scene_.store.tables().workers();
  if (workers.empty()) return;
  const auto victim =
      std::next(workers.begin(), static_cast<std::ptrdiff_t>(forger_.below(workers.size())));
  const WorkerRow& row = victim->second;
  const WorkerId id = row.info->id;
  const std::string session = forger_.chance(500) ? "" : fmt::format("guess-{}", ++forged_);
  const TaskRow* held = nullptr;
  for (const auto& [task, one] : scene_.store.tables().tasks()) {
    if (is_held(one.state) && one.worker == id) held = &one;
  }
  if (forger_.chance(300)) {
    return ask(core::WorkerExited{{}, id, row.incarnation, {}, {}, {}, session}, 1, {});
  }
  if (held != nullptr && forger_.chance(200)) {
    const core::CheckpointClaim by{id, row.incarnation, {held->id, held->epoch}, session};
    return ask(core::KeepCheckpoint{{}, by, {1'000'000'000'000 + ++forged_, 10}}, 1, {});
  }
  SyncRequest request;
  request.worker = id;
  request.incarnation = row.incarnation;
  request.seq = 1'000'000'000 + ++forged_;
  request.slots = 1;
  if (held != nullptr) {
    request.held.emplace();
    request.reports.push_back({{held->id, held->epoch}, Completed{"{}"}});
  }
  ask(core::Sync{{}, std::move(request), session}, 1, {});
}

// What no careful client sends. Each of these is refused and changes nothing.
void Clients::ask_nonsense(const Act& act) {
  constexpr RunId kNoRun{1'000'000};
  const TaskId nothing{kNoRun, 7, 0};
  const WorkerId nobody("nobody");
  WorkerInfo odd = scene_.setup.workers.front().info;
  odd.slots = 0;
  // No life could follow this one.
  constexpr std::uint64_t kBurnt = std::numeric_limits<std::int64_t>::max();
  if (scene_.setup.burns && act.pick % 3 == 0) {
    const WorkerInfo& info = scene_.setup.workers.front().info;
    return ask(core::RegisterWorker{{}, info, {kBurnt}}, kFewTries, {});
  }
  SyncRequest empty;
  empty.worker = odd.id;
  core::SubmitRun long_key;
  long_key.dag = scene_.setup.drafts[act.draft].dag;
  long_key.idempotency_key = std::string(300, 'k');
  const core::Command nonsense[] = {core::AcquireLease{{}, {"orders", 0}, {}},
                                    core::AcquireLease{{}, {"", 0}, AgentId("agent0")},
                                    core::PauseQueue{{}, "", true},
                                    core::RegisterWorker{{}, odd, {1'000'000}},
                                    core::Sync{{}, empty},
                                    long_key,
                                    core::CancelRun{{}, kNoRun},
                                    core::PauseRun{{}, kNoRun, true},
                                    core::CancelTask{{}, nothing},
                                    core::RetryTask{{}, nothing, {}},
                                    core::RedriveDeadLetter{{}, nothing, {}},
                                    core::DiscardDeadLetter{{}, nothing},
                                    core::DrainWorker{{}, nobody, {}},
                                    core::CordonWorker{{}, nobody, true},
                                    core::ResetWorker{{}, nobody},
                                    core::DeleteWorker{{}, nobody},
                                    core::CheckAttempt{{}, {nothing, {1}}},
                                    core::RenewLease{{}, {"orders", 99}, AgentId("agent0"), {1}},
                                    core::ReleaseLease{{}, {"orders", 99}, AgentId("agent0"), {1}},
                                    core::CheckLease{{}, {"orders", 99}, AgentId("agent0"), {1}}};
  ask(nonsense[act.pick % std::size(nonsense)], kFewTries, {});
}

void Clients::lift_everything() {
  tell_all_that_wait();
  const Tables& tables = scene_.store.tables();
  for (const auto& [id, run] : tables.runs()) {
    if (run.paused && run.state == RunState::kRunning) ask(core::PauseRun{{}, id, false}, 3, {});
  }
  for (const auto& [dag, schedule] : tables.schedules()) {
    if (schedule.paused != SchedulePause::kNone) ask(core::PauseSchedule{{}, dag, false}, 3, {});
  }
  for (const auto& [name, queue] : tables.queues()) {
    if (queue.paused) ask(core::PauseQueue{{}, name, false}, 3, {});
  }
  for (const auto& [id, worker] : tables.workers()) {
    const bool ends_itself = worker.blame != WorkerBlame::kNone && !scene_.setup.lifts_blame;
    if (worker.cordoned && !ends_itself) ask(core::CordonWorker{{}, id, false}, 3, {});
  }
}

void Clients::ask(core::Command command, std::uint32_t tries, Told told) {
  auto errand = std::make_shared<Errand>();
  errand->command = std::move(command);
  errand->tries = tries;
  errand->controller = static_cast<std::uint32_t>(rng_.below(scene_.setup.controllers));
  errand->told = std::move(told);
  attempt(errand);
}

void Clients::attempt(const ErrandPtr& errand) {
  const Duration limit = scene_.setup.timings.client_limit;
  errand->asked_at = scene_.agenda.now();
  scene_.board.call({scene_.setup.client_host(), errand->controller, errand->command, limit},
                    [this, errand](const CallResult& result) { again(errand, result); });
}

void Clients::again(const ErrandPtr& errand, const CallResult& result) {
  if (const auto* body = std::get_if<core::ReplyBody>(&result)) {
    scene_.recorder.fact(ClientTold{errand->command, *body, errand->asked_at});
    if (errand->told) errand->told(body);
    return;
  }
  // Who is told that another one leads is in doubt too: a copy of its request may still be on its
  // way, and come when this one leads.
  scene_.recorder.fact(ClientInDoubt{errand->command});
  if (errand->tries > 0) --errand->tries;
  if (errand->tries == 0) {
    if (errand->told) errand->told(nullptr);
    return;
  }
  errand->controller = (errand->controller + 1) % scene_.setup.controllers;
  if (const auto* hint = std::get_if<NotLeader>(&result); hint && hint->leader) {
    errand->controller = *hint->leader;
  }
  const Duration wait = share(rng_, scene_.setup.timings.policy.heartbeat_interval, 20, 500);
  scene_.agenda.after(wait, [this, errand] { attempt(errand); });
}

}  // namespace vortex::sim
