#include <algorithm>
#include <limits>
#include <set>

#include "base/assert.h"
#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "model/check.h"

namespace vortex::core {

namespace {

constexpr std::size_t kIdBytesMax = 200;

std::string what_is_wrong(const WorkerInfo& info) {
  if (info.id.empty() || info.id.text.size() > kIdBytesMax)
    return "worker id must be 1 to 200 bytes long";
  if (auto c = complain_of_dots("worker id", info.id.text)) return *c;
  if (info.machine.empty()) return "machine must not be empty";
  if (auto c = complain_of_dots("machine", info.machine.text)) return *c;
  if (info.slots == 0 || info.slots > kSlotsMax) return "slots must be 1 to 100000";
  if (info.queues.empty()) return "a worker must listen to at least one queue";
  if (!std::is_sorted(info.queues.begin(), info.queues.end())) return "queues must be sorted";
  if (!std::is_sorted(info.labels.begin(), info.labels.end())) return "labels must be sorted";
  if (!std::is_sorted(info.runtimes.begin(), info.runtimes.end())) return "runtimes must be sorted";
  if (!std::is_sorted(info.users.begin(), info.users.end())) return "users must be sorted";
  return {};
}

void count_presence(Context& cx, const MachineId& id, bool was, bool is) {
  if (was == is) return;
  Machine& machine = cx.state.machines[id];
  machine.present += is ? 1 : 0;
  machine.present -= is ? 0 : 1;
  const bool online = machine.present > 0;
  if (online == machine.online) return;
  machine.online = online;
  machine.since = cx.now;
  cx.touch(id);
  cx.event(online ? EventKind::kMachineOnline : EventKind::kMachineOffline, {},
           {{"machine", id.text}}, online ? Severity::kInfo : Severity::kWarning);
}

// A worker that moved to another machine leaves the old one first.
void move_machine(Context& cx, Worker& worker, const WorkerInfo& info) {
  if (!worker.info || worker.info->machine == info.machine) return;
  if (is_present(worker.state)) count_presence(cx, worker.info->machine, true, false);
  worker.state = WorkerState::kInactive;
}

void begin_session(Context& cx, WorkerIx ix, const RegisterWorker& command) {
  Worker& worker = cx.worker(ix);
  worker.info = std::make_shared<const WorkerInfo>(command.info);
  worker.incarnation = command.incarnation;
  worker.session_hash = command.session_hash;
  worker.registered_by = command.registered_by;
  worker.trust = Trusted{};
  worker.lost_pending = false;
  worker.registered_at = cx.now;
  worker.last_heartbeat = kNever;
  worker.heard_at = cx.judged;
  worker.last_seq = 0;
  worker.slots = 0;
  worker.abnormal.clear();
  worker.stale_to_tell.clear();
  worker.drain_within.reset();
  worker.drain_sent_in = 0;
  worker.profile = cx.state.ready.profile(command.info);
  set_worker_state(cx, ix, WorkerState::kRegistering);
  cx.touch(ix);
  cx.state.timers.set({TimerKind::kWorker, ix.value}, cx.judged + cx.state.policy.worker_lease);
  cx.event(EventKind::kWorkerRegistered, {.worker = ix, .task = {}, .run = {}},
           {{"incarnation", static_cast<std::int64_t>(command.incarnation.value)},
            {"machine", command.info.machine.text}});
  if (worker.blame == WorkerBlame::kCordoned) begin_probation(cx, ix, "the worker was restarted");
}

void adjust(Usage& used, const Resources& demand, std::int64_t sign) {
  used.cpu_milli += sign * demand.cpu_milli;
  used.memory_bytes += sign * demand.memory_bytes;
  for (const auto& [name, amount] : demand.named) {
    auto& held = used.named[name];
    held += sign * amount;
    if (held == 0) used.named.erase(name);
  }
}

std::int64_t total_of(const NamedAmounts& totals, const std::string& name) {
  for (const auto& [known, amount] : totals) {
    if (known == name) return amount;
  }
  return 0;
}

bool fits_into(const Resources& total, const Usage& used, const Resources& demand) {
  // A worker that states no amount of cpu or memory does not ration it.
  if (total.cpu_milli > 0 && used.cpu_milli + demand.cpu_milli > total.cpu_milli) return false;
  if (total.memory_bytes > 0 && used.memory_bytes + demand.memory_bytes > total.memory_bytes) {
    return false;
  }
  return std::all_of(demand.named.begin(), demand.named.end(), [&](const auto& need) {
    const auto taken = used.named.find(need.first);
    const std::int64_t held = taken == used.named.end() ? 0 : taken->second;
    return held + need.second <= total_of(total.named, need.first);
  });
}

bool any_other_fits(Context& cx, ClassIx cls, WorkerIx last) {
  if (!cx.state.ready[cls].requirements.worker.empty()) return false;
  const Resources& demand = cx.state.ready[cls].requirements.resources;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const WorkerIx ix{i};
    if (ix == last || !cx.worker(ix).takes_work()) continue;
    if (worker_fits(cx, ix, cls) && is_large_enough(cx.worker(ix), demand)) return true;
  }
  return false;
}

// Nothing may lead to it any more: not a timer, a list or an offer. It is not present, so it holds
// no task; tasks that were on it once are made to forget it by release_retired.
void forget_worker(Context& cx, WorkerIx ix, const char* why) {
  Worker& worker = cx.worker(ix);
  VX_ASSERT(!is_present(worker.state) && worker.held.empty());
  end_session(cx, ix);
  update_offer(cx, ix);
  cx.state.timers.clear({TimerKind::kWorker, ix.value});
  cx.state.timers.clear({TimerKind::kProbation, ix.value});
  std::erase_if(cx.state.weak_losses, [ix](const auto& loss) { return loss.second == ix; });
  std::erase(cx.state.offering, ix);
  std::erase(cx.calling, ix);
  cx.event(EventKind::kWorkerDeleted, {.worker = ix, .task = {}, .run = {}},
           {{"reason", std::string(why)},
            {"incarnation", static_cast<std::int64_t>(worker.incarnation.value)}});
  cx.fx.rows.workers_gone.push_back(worker.info->id);
  cx.forget_row(ix);
  cx.state.workers.retire(ix);
}

// Machines that no known worker is on go with their last one.
void forget_empty_machines(Context& cx, const std::set<MachineId>& left) {
  std::set<MachineId> empty = left;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    if (cx.state.workers.is_known({i})) empty.erase(cx.worker({i}).info->machine);
  }
  for (const MachineId& id : empty) {
    cx.forget_row(id);
    cx.state.machines.erase(id);
    cx.fx.rows.machines_gone.push_back(id);
  }
}

constexpr std::uint32_t kForgetAtOnce = 200;
constexpr std::uint32_t kLookAtOnce = 20'000;

}  // namespace

void set_worker_state(Context& cx, WorkerIx ix, WorkerState state) {
  Worker& worker = cx.worker(ix);
  // A worker that was just added counts as absent until its first state is set.
  const bool was = worker.registered_once && is_present(worker.state);
  const bool was_in_service = worker.registered_once && is_in_service(worker);
  worker.registered_once = true;
  worker.state = state;
  if (was_in_service && !is_in_service(worker)) cx.fleet_shrank = true;
  count_presence(cx, worker.info->machine, was, is_present(state));
  cx.touch(ix);
}

void refresh_activity(Context& cx, WorkerIx ix) {
  Worker const& worker = cx.worker(ix);
  if (worker.state != WorkerState::kIdle && worker.state != WorkerState::kRunning) return;
  const auto now = worker.held.empty() ? WorkerState::kIdle : WorkerState::kRunning;
  if (now != worker.state) set_worker_state(cx, ix, now);
}

void take_slot(Context& cx, TaskIx ix, WorkerIx worker_ix) {
  Task const& task = cx.task(ix);
  Worker& worker = cx.worker(worker_ix);
  cx.state.tasks.push_back(worker.held, ix);
  adjust(worker.used, cx.spec_of(task).requirements.resources, 1);
  worker.last_grant = cx.state.next_grant++;
  ++cx.run_of(task).held;
  hold_limits(cx, cx.node_of(task).cls);
  refresh_activity(cx, worker_ix);
}

void release_slot(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  const WorkerIx worker_ix = task.grant()->worker;
  Worker& worker = cx.worker(worker_ix);
  cx.state.timers.clear({TimerKind::kTask, ix.value});
  cx.state.tasks.unlink(worker.held, ix);
  adjust(worker.used, cx.spec_of(task).requirements.resources, -1);
  --cx.run_of(task).held;
  free_limits(cx, cx.node_of(task).cls);
  leave_play(cx, task.run, task.node);
  refresh_activity(cx, worker_ix);
  update_offer(cx, worker_ix);
}

bool resources_fit(const Worker& worker, const Resources& demand) {
  return fits_into(worker.info->resources, worker.used, demand);
}

bool is_large_enough(const Worker& worker, const Resources& demand) {
  return fits_into(worker.info->resources, {}, demand);
}

bool worker_fits(Context& cx, WorkerIx ix, ClassIx cls) {
  const WorkerId& pin = cx.state.ready[cls].requirements.worker;
  const Worker& worker = cx.worker(ix);
  if (!pin.empty() && pin != worker.info->id) return false;
  return cx.state.ready.fits(worker.profile, cls);
}

bool another_could_take(Context& cx, const Task& task, WorkerIx last) {
  const ClassIx cls = cx.node_of(task).cls;
  const auto [known, asked] = cx.others_fit.try_emplace({cls, last}, false);
  if (asked) known->second = any_other_fits(cx, cls, last);
  return known->second;
}

namespace {

// A worker whose processes need all of K to end must begin soon enough to be done within 0.95 L.
Registered session_of(Context& cx, Incarnation life) {
  const Policy& policy = cx.state.policy;
  const Duration safe = policy.worker_lease * 95 / 100 - policy.kill_time - policy.sweep;
  return {cx.state.term, policy.worker_lease, policy.heartbeat_interval,
          std::clamp(safe, Duration{}, policy.self_fence), life};
}

// A life is numbered by a clock, of nanoseconds at the finest, or one by one. A number far beyond
// both would leave none for the lives to come, and so take the name from its owner for good.
constexpr Duration kClockAhead = hours(24 * 366);
constexpr std::uint64_t kLivesAhead = 1'000'000;
constexpr std::uint64_t kLifeMax = std::numeric_limits<std::int64_t>::max();  // the store's numbers

Incarnation choose_life(Context& cx, Incarnation known) {
  return std::max(known.next(), Incarnation{static_cast<std::uint64_t>(cx.now.us)});
}

}  // namespace

Incarnation newest_life(const Context& cx, Incarnation known) {
  const auto clock_ns = static_cast<std::uint64_t>((cx.now + kClockAhead).us) * 1000;
  return {std::min(std::max(clock_ns, known.value + kLivesAhead), kLifeMax)};
}

namespace {

bool refuse_life(Context& cx, const RegisterWorker& command, Incarnation known) {
  const Incarnation newest = newest_life(cx, known);
  if (command.incarnation <= newest) return false;
  REACHED("core: incarnation out of reach refused");
  cx.refuse(command.request, RefusalKind::kMalformed,
            "incarnation " + std::to_string(command.incarnation.value) + " is more than " +
                std::to_string(newest.value) +
                ", the highest that is accepted now; use the time in microseconds, or 0 to let the "
                "controller choose");
  return true;
}

}  // namespace

namespace {

// A life that is present is replaced only by whoever registered it, so that no other token can take
// its work away.
bool refuse_replacing(Context& cx, const RegisterWorker& command, const Worker& known) {
  if (!is_present(known.state) || command.may_replace || known.registered_by.empty()) return false;
  if (known.registered_by == command.registered_by) return false;
  if (!command.presented.empty() && is_of_session(known, command.presented)) return false;
  cx.refuse(command.request, RefusalKind::kWorkerTaken,
            "worker '" + known.info->id.text + "' is present and was registered with the token '" +
                known.registered_by + "'");
  return true;
}

}  // namespace

bool is_of_session(const Worker& worker, const std::string& presented) {
  return planted(PlantedBug::kSessionNotChecked) || presented == worker.session_hash;
}

void refuse_session(Context& cx, RequestId request, const std::string& presented) {
  cx.refuse(request, presented.empty() ? RefusalKind::kNoSession : RefusalKind::kWrongSession);
}

void on_register(Context& cx, const RegisterWorker& asked) {
  const std::string wrong = what_is_wrong(asked.info);
  if (!wrong.empty()) return cx.refuse(asked.request, RefusalKind::kMalformed, wrong);
  WorkerIx ix = cx.state.workers.find(asked.info.id);
  const Incarnation newest = ix.valid() ? cx.worker(ix).incarnation : Incarnation{};
  RegisterWorker command = asked;
  if (command.incarnation.value == 0) command.incarnation = choose_life(cx, newest);
  if (refuse_life(cx, command, newest)) return;
  if (ix.valid()) {
    const Worker& known = cx.worker(ix);
    const bool same_life = command.incarnation == known.incarnation;
    // Who does not have the secret of this life may not learn it, and is somebody else.
    const bool stranger = same_life && !is_of_session(known, command.presented);
    const bool over = same_life && !is_present(known.state);
    if (command.incarnation < known.incarnation || over || stranger) {
      if (stranger && !over) REACHED("core: repeated registration without its session refused");
      Refusal refusal{RefusalKind::kStaleIncarnation, {}, std::nullopt, known.incarnation};
      return cx.reply(command.request, std::move(refusal));
    }
    // The same life asks again and loses nothing it holds.
    if (same_life) {
      Registered again = session_of(cx, command.incarnation);
      again.repeated = true;
      return cx.reply(command.request, again);
    }
    if (refuse_replacing(cx, command, known)) return;
    if (is_present(known.state)) lose_worker(cx, ix, Evidence::kNewIncarnation);
    move_machine(cx, cx.worker(ix), command.info);
  } else {
    ix = cx.state.workers.add(command.info.id);
  }
  begin_session(cx, ix, command);
  cx.reply(command.request, session_of(cx, command.incarnation));
}

void on_drain_worker(Context& cx, const DrainWorker& command) {
  const WorkerIx ix = cx.state.workers.find(command.worker);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownWorker);
  if (!is_present(cx.worker(ix).state)) {
    return cx.refuse(command.request, RefusalKind::kWrongState, "the worker is gone");
  }
  if (command.within && command.within != cx.worker(ix).drain_within) {
    cx.worker(ix).drain_within = command.within;
    cx.worker(ix).drain_sent_in = 0;
    cx.touch(ix);
  }
  begin_drain(cx, ix);
  tell_news(cx, ix);
  cx.reply(command.request, Done{});
}

void on_cordon_worker(Context& cx, const CordonWorker& command) {
  const WorkerIx ix = cx.state.workers.find(command.worker);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownWorker);
  set_cordon(cx, ix, command.cordoned, "operator");
  cx.reply(command.request, Done{});
}

void on_delete_worker(Context& cx, const DeleteWorker& command) {
  const WorkerIx ix = cx.state.workers.find(command.worker);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownWorker);
  if (is_present(cx.worker(ix).state)) {
    return cx.refuse(command.request, RefusalKind::kWrongState,
                     "the worker is present; stop or drain it first");
  }
  const MachineId machine = cx.worker(ix).info->machine;
  forget_worker(cx, ix, "operator");
  forget_empty_machines(cx, {machine});
  cx.reply(command.request, Done{});
}

void forget_old_workers(Context& cx) {
  const Duration keep = cx.state.policy.retain_workers;
  if (keep <= Duration{}) return;
  std::set<MachineId> machines;
  std::uint32_t forgotten = 0;
  for (std::uint32_t i = 0; i < cx.state.workers.size() && forgotten < kForgetAtOnce; ++i) {
    const Worker& worker = cx.worker({i});
    if (is_present(worker.state) || !worker.held.empty() || !cx.state.workers.is_known({i})) {
      continue;
    }
    const Instant heard =
        worker.last_heartbeat == kNever ? worker.registered_at : worker.last_heartbeat;
    if (cx.now - heard < keep) continue;
    machines.insert(worker.info->machine);
    forget_worker(cx, {i}, "retention");
    ++forgotten;
  }
  if (forgotten > 0) forget_empty_machines(cx, machines);
}

void release_retired(State& state) {
  if (!state.workers.is_looking()) {
    state.retired_look = 0;
    return state.workers.vacate();
  }
  const std::uint32_t end = std::min(state.retired_look + kLookAtOnce, state.tasks.slots());
  for (; state.retired_look < end; ++state.retired_look) {
    Task& task = state.tasks[TaskIx{state.retired_look}];
    if (auto* queued = std::get_if<Queued>(&task.phase)) {
      if (!queued->last_worker.valid() || !state.workers[queued->last_worker].retired) continue;
      queued->last_worker = WorkerIx::none();
      queued->keep_away = false;
    } else if (auto* ended = std::get_if<Final>(&task.phase)) {
      if (ended->worker.valid() && state.workers[ended->worker].retired) {
        ended->worker = WorkerIx::none();
      }
    }
  }
  if (state.retired_look < state.tasks.slots()) return;
  state.retired_look = 0;
  state.workers.vacate();
}

void on_reset_worker(Context& cx, const ResetWorker& command) {
  const WorkerIx ix = cx.state.workers.find(command.worker);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownWorker);
  cx.event(EventKind::kWorkerReset, {.worker = ix, .task = {}, .run = {}});
  if (is_present(cx.worker(ix).state)) lose_worker(cx, ix, Evidence::kOperator);
  set_cordon(cx, ix, false, "reset");
  cx.reply(command.request, Done{});
}

}  // namespace vortex::core
