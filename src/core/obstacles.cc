#include "core/obstacles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/machine.h"
#include "model/check.h"

namespace vortex::core {
namespace {

constexpr std::size_t kWorkersNamedMax = 20;

// How near a worker is to running a task, the nearest first.
enum class Nearness : std::uint8_t { kFree, kBusy, kBarred, kTooSmall, kGone, kUnable };
constexpr std::size_t kNearnesses = 6;

// All known workers as one class of tasks sees them; texts are made only for those that are named.
struct Fleet {
  std::array<std::vector<WorkerIx>, kNearnesses> by_nearness;
  std::uint32_t all = 0;
  Instant probation_at = kNever;  // when the first of those that are barred begins its probation

  const std::vector<WorkerIx>& at(Nearness nearness) const {
    return by_nearness[static_cast<std::size_t>(nearness)];
  }
  std::uint32_t of(Nearness nearness) const {
    return static_cast<std::uint32_t>(at(nearness).size());
  }
  std::uint32_t able() const { return all - of(Nearness::kUnable); }
};

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string list_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out.empty() ? "none" : out;
}

std::string pair_text(const std::pair<std::string, std::string>& label) {
  return label.first + "=" + label.second;
}

// 1500 -> "1.5"
std::string cpu_text(std::int64_t milli) {
  std::string out = std::to_string(milli / 1'000);
  if (milli % 1'000 == 0) return out;
  std::string part = std::to_string(1'000 + milli % 1'000).substr(1);
  while (part.ends_with('0')) part.pop_back();
  return out + "." + part;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kMib = 1 << 20;
  if (bytes % (kMib << 10) == 0) return std::to_string(bytes / (kMib << 10)) + "GiB";
  return std::to_string((bytes + kMib - 1) / kMib) + "MiB";
}

std::int64_t amount_of(const NamedAmounts& named, const std::string& name) {
  const auto found = std::ranges::find(named, name, &NamedAmounts::value_type::first);
  return found == named.end() ? 0 : found->second;
}

const std::string* value_of(const Labels& labels, const std::string& name) {
  const auto found = std::ranges::find(labels, name, &Labels::value_type::first);
  return found == labels.end() ? nullptr : &found->second;
}

bool serves_queue(const WorkerInfo& info, const std::string& queue) {
  return std::ranges::find(info.queues, queue) != info.queues.end();
}

bool has_runtime(const WorkerInfo& info, const std::string& runtime) {
  return runtime.empty() || std::ranges::find(info.runtimes, runtime) != info.runtimes.end();
}

bool allows_user(const WorkerInfo& info, const std::string& user) {
  return user.empty() || std::ranges::find(info.users, user) != info.users.end();
}

bool has_label(const WorkerInfo& info, const Labels::value_type& label) {
  const std::string* value = value_of(info.labels, label.first);
  return value != nullptr && *value == label.second;
}

// Which of its requirements a worker can never meet; empty: it meets all of them.
std::string why_unable(const WorkerInfo& info, const Requirements& need) {
  if (!need.worker.empty() && need.worker != info.id) {
    return "is not " + quoted(need.worker.text) + ", the only worker it may run on";
  }
  if (!serves_queue(info, need.queue)) {
    return "does not serve queue " + quoted(need.queue) + " (serves " + list_text(info.queues) +
           ")";
  }
  if (!has_runtime(info, need.runtime)) return "lacks the runtime " + quoted(need.runtime);
  if (!allows_user(info, need.user)) {
    return "does not allow tasks to run as " + quoted(need.user) + " (worker.task_users_allowed)";
  }
  for (const auto& label : need.labels) {
    if (has_label(info, label)) continue;
    const std::string* other = value_of(info.labels, label.first);
    return "lacks the label " + pair_text(label) +
           (other == nullptr ? "" : " (has " + label.first + "=" + *other + ")");
  }
  return {};
}

// Which resource it has too little of, even when idle; empty: it has enough.
std::string why_too_small(const Resources& has, const Resources& need) {
  if (has.cpu_milli > 0 && need.cpu_milli > has.cpu_milli) {
    return "has " + cpu_text(has.cpu_milli) + " cpu in all, " + cpu_text(need.cpu_milli) +
           " needed";
  }
  if (has.memory_bytes > 0 && need.memory_bytes > has.memory_bytes) {
    return "has " + bytes_text(has.memory_bytes) + " memory in all, " +
           bytes_text(need.memory_bytes) + " needed";
  }
  for (const auto& [name, amount] : need.named) {
    const std::int64_t there = amount_of(has.named, name);
    if (there >= amount) continue;
    if (there == 0) return "has no resource " + quoted(name);
    return "has " + std::to_string(there) + " of resource " + quoted(name) + " in all, " +
           std::to_string(amount) + " needed";
  }
  return {};
}

std::string why_barred(const Worker& worker) {
  if (worker.state == WorkerState::kDraining) return "is draining";
  if (!worker.is_trusted() || worker.lost_pending) return "is suspect and may be gone";
  if (worker.blame == WorkerBlame::kCordoned) {
    return "is cordoned because tasks died abnormally on it; probation follows";
  }
  if (worker.cordoned) return "is cordoned by an operator";
  return "has not sent a heartbeat yet";
}

Nearness nearness_of(Context& cx, WorkerIx ix, ClassIx cls) {
  const Worker& worker = cx.worker(ix);
  const Resources& demand = cx.state.ready[cls].requirements.resources;
  if (!worker_fits(cx, ix, cls)) return Nearness::kUnable;
  if (!is_large_enough(worker, demand)) return Nearness::kTooSmall;
  if (!is_present(worker.state)) return Nearness::kGone;
  if (!worker.takes_work()) return Nearness::kBarred;
  const bool has_room = worker.capacity() > 0 && resources_fit(worker, demand);
  return has_room ? Nearness::kFree : Nearness::kBusy;
}

std::string why_not(const Worker& worker, const Requirements& need, Nearness nearness) {
  switch (nearness) {
    case Nearness::kUnable:
      return why_unable(*worker.info, need);
    case Nearness::kTooSmall:
      return why_too_small(worker.info->resources, need.resources);
    case Nearness::kGone:
      return worker.state == WorkerState::kOffline ? "is offline" : "has left";
    case Nearness::kBarred:
      return why_barred(worker);
    case Nearness::kBusy:
      return worker.capacity() == 0 ? "is busy: holds " + count_text(worker.held.size, "task")
                                    : "has too little cpu, memory or other resources left";
    case Nearness::kFree:
      break;
  }
  return "has room";
}

Fleet look_at_all(Context& cx, ClassIx cls) {
  Fleet fleet;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const WorkerIx ix{i};
    if (!cx.state.workers.is_known(ix)) continue;
    const Nearness nearness = nearness_of(cx, ix, cls);
    fleet.by_nearness[static_cast<std::size_t>(nearness)].push_back(ix);
    ++fleet.all;
    if (nearness == Nearness::kBarred) {
      fleet.probation_at = std::min(fleet.probation_at, cx.worker(ix).probation_at);
    }
  }
  return fleet;
}

// ---- What no worker at all has ----

template <class Has>
bool any_worker(Context& cx, Has has) {
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const WorkerIx ix{i};
    if (cx.state.workers.is_known(ix) && has(*cx.worker(ix).info)) return true;
  }
  return false;
}

// "no worker has the label gpu=a100", as exactly as it can be said.
std::string what_nobody_has(Context& cx, const Requirements& need) {
  const auto lack = [&](auto has, const std::string& what) {
    return any_worker(cx, has) ? std::string() : what;
  };
  std::vector<std::string> missing;
  if (!need.worker.empty()) {
    missing.push_back(lack([&](const WorkerInfo& info) { return info.id == need.worker; },
                           "is called " + quoted(need.worker.text)));
  }
  missing.push_back(lack([&](const WorkerInfo& info) { return serves_queue(info, need.queue); },
                         "serves queue " + quoted(need.queue)));
  missing.push_back(lack([&](const WorkerInfo& info) { return has_runtime(info, need.runtime); },
                         "has the runtime " + quoted(need.runtime)));
  missing.push_back(lack([&](const WorkerInfo& info) { return allows_user(info, need.user); },
                         "allows tasks to run as " + quoted(need.user)));
  for (const auto& label : need.labels) {
    missing.push_back(lack([&](const WorkerInfo& info) { return has_label(info, label); },
                           "has the label " + pair_text(label)));
  }
  std::string out;
  for (const std::string& one : missing) {
    if (!one.empty()) out += (out.empty() ? "no worker " : " or ") + one;
  }
  return out.empty() ? "no worker meets all of its requirements at once" : out;
}

// The command that would start a worker for it.
std::string start_command(const Requirements& need) {
  std::string out = "vortex worker";
  if (need.queue != "default") out += " --queue " + need.queue;
  for (const auto& label : need.labels) out += " --label " + pair_text(label);
  if (!need.runtime.empty()) out += " --runtime " + need.runtime;
  if (!need.user.empty()) out += " --worker.task_users_allowed=" + need.user;
  if (need.resources.cpu_milli > 0) out += " --cpu " + cpu_text(need.resources.cpu_milli);
  if (need.resources.memory_bytes > 0) {
    out += " --memory " + bytes_text(need.resources.memory_bytes);
  }
  for (const auto& [name, amount] : need.resources.named) {
    out += " --resource " + name + "=" + std::to_string(amount);
  }
  return out;
}

// ---- Obstacles ----

class Obstacles {
 public:
  // `until`: when it passes, if that is known.
  void add(Obstacle obstacle, std::string moves_when, std::optional<Instant> until = {}) {
    entries_.push_back({std::move(obstacle), std::move(moves_when), until});
  }

  Explanation explanation() && {
    std::ranges::stable_partition(entries_,
                                  [](const Entry& entry) { return entry.obstacle.permanent; });
    Explanation out;
    out.reason = entries_.front().obstacle.reason;
    out.moves_when = std::move(entries_.front().moves_when);
    out.moves_at = entries_.front().until;
    for (Entry& entry : entries_) out.obstacles.push_back(std::move(entry.obstacle));
    return out;
  }
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Obstacle obstacle;
    std::string moves_when;
    std::optional<Instant> until;
  };
  std::vector<Entry> entries_;
};

std::string fleet_text(const Fleet& fleet) {
  return count_text(fleet.able(), "matching worker") + ": " +
         std::to_string(fleet.of(Nearness::kGone)) + " offline, " +
         std::to_string(fleet.of(Nearness::kBarred)) + " unavailable, " +
         std::to_string(fleet.of(Nearness::kBusy)) + " busy";
}

void add_barred(Context& cx, const Fleet& fleet, Obstacles& out) {
  constexpr std::size_t kNamedMax = 3;
  const std::vector<WorkerIx>& barred = fleet.at(Nearness::kBarred);
  std::string names;
  for (std::size_t i = 0; i < std::min(barred.size(), kNamedMax); ++i) {
    const Worker& worker = cx.worker(barred[i]);
    names += (i == 0 ? "" : "; ") + quoted(worker.info->id.text) + " " + why_barred(worker);
  }
  const bool blamed = fleet.probation_at != kNever;
  Obstacle obstacle{.reason = WaitReason::kFittingWorkersBarred,
                    .permanent = !blamed,
                    .what = fleet_text(fleet) + " (" + names + ")",
                    .action = {}};
  for (const WorkerIx ix : barred) {
    if (!cx.worker(ix).cordoned) continue;
    obstacle.action = "vortex workers uncordon " + cx.worker(ix).info->id.text;
    break;
  }
  if (!blamed) {
    return out.add(std::move(obstacle), "one of them is uncordoned or heard from again");
  }
  out.add(std::move(obstacle), "one of them begins its probation or is heard from again",
          fleet.probation_at);
}

void add_fleet(Context& cx, const Fleet& fleet, const Requirements& need, Obstacles& out) {
  if (fleet.all == 0) {
    return out.add({WaitReason::kNoSuchWorker, true, "there are no workers", start_command(need)},
                   "a worker registers for queue " + quoted(need.queue));
  }
  if (fleet.able() == 0) {
    return out.add(
        {WaitReason::kNoSuchWorker, true, what_nobody_has(cx, need), start_command(need)},
        "a worker registers for queue " + quoted(need.queue) +
            " with the required labels, runtime and id");
  }
  const std::uint32_t large_enough = fleet.able() - fleet.of(Nearness::kTooSmall);
  if (large_enough == 0) {
    return out.add({WaitReason::kResourcesNowhere, true,
                    "no matching worker has enough resources, even when idle", start_command(need)},
                   "a worker with enough resources registers, or the task asks for less");
  }
  if (fleet.of(Nearness::kGone) == large_enough) {
    return out.add({WaitReason::kFittingWorkersGone, true, fleet_text(fleet),
                    "start one again: " + start_command(need)},
                   "one of them comes back");
  }
  if (fleet.of(Nearness::kGone) + fleet.of(Nearness::kBarred) == large_enough) {
    return add_barred(cx, fleet, out);
  }
  if (fleet.of(Nearness::kFree) == 0) {
    out.add({WaitReason::kFittingWorkersFull, false, fleet_text(fleet), {}},
            "one of them has a free slot and enough resources");
  }
}

// What the task itself waits for although a worker has room.
void add_own(Context& cx, const Task& task, const Queued& queued, Obstacles& out) {
  if (queued.keep_away) {
    const std::string& last = cx.worker(queued.last_worker).info->id.text;
    out.add({WaitReason::kKeepsAway,
             false,
             "its last try was on " + quoted(last) + ", another worker is preferred",
             {}},
            "another worker has room, or it has waited long enough",
            cx.state.clock.term_time(queued.waiting_since + cx.state.policy.keep_away));
  } else if (on_last_try(cx.state.policy, task)) {
    out.add({WaitReason::kLastTryApart,
             false,
             count_text(task.counters.crashes, "worker") +
                 " died while running it; one more and it becomes a dead letter",
             {}},
            "a worker has room and is not running another suspect on its last try");
  }
}

void add_pauses(const Run& run, const Queue& queue, Obstacles& out) {
  if (run.paused) {
    out.add({WaitReason::kRunPaused, true, "the run is paused",
             "vortex runs resume " + to_text(run.id)},
            "the run is resumed");
  }
  if (run.paused_above) {
    const std::string above = to_text(run.request->parent);
    out.add({WaitReason::kRunPaused, true, "run " + above + ", which it is a sub-DAG of, is paused",
             "vortex runs resume " + above},
            "the run above is resumed");
  }
  if (queue.paused) {
    out.add({WaitReason::kQueuePaused, true, "queue " + quoted(queue.name) + " is paused",
             "vortex queues resume " + queue.name},
            "the queue is resumed");
  }
}

void name_workers(Context& cx, const Fleet& fleet, const Requirements& need, Explanation& out) {
  for (std::size_t i = 0; i < kNearnesses; ++i) {
    for (const WorkerIx ix : fleet.by_nearness[i]) {
      if (out.workers.size() == kWorkersNamedMax) break;
      const Worker& worker = cx.worker(ix);
      out.workers.push_back({worker.info->id, why_not(worker, need, static_cast<Nearness>(i))});
    }
  }
  out.workers_unnamed = fleet.all - static_cast<std::uint32_t>(out.workers.size());
}

}  // namespace

std::string count_text(std::uint64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

bool has_way_on(Context& cx, ClassIx cls) {
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const WorkerIx ix{i};
    if (!cx.state.workers.is_known(ix)) continue;
    const Nearness nearness = nearness_of(cx, ix, cls);
    if (nearness == Nearness::kFree || nearness == Nearness::kBusy) return true;
  }
  return false;
}

namespace {

std::string roles_text(const std::vector<Role>& roles) {
  std::string out;
  for (const Role role : roles) out += (out.empty() ? "" : " or ") + std::string(to_text(role));
  return out;
}

Explanation why_wait(Context& cx, const Task& task, const Queued& queued) {
  const NodeSpec& spec = cx.spec_of(task);
  const WaitSpec& wait = *spec.wait;
  const std::string run = to_text(cx.run_of(task).id);
  const std::string limit =
      wait.timeout ? "times out after " + short_text(*wait.timeout) : std::string();
  std::optional<Instant> until;
  if (queued.due != kNever) until = queued.due;
  Obstacles found;
  switch (wait.kind) {
    case WaitKind::kFor:
    case WaitKind::kUntil:
      found.add({WaitReason::kWaitsForTime,
                 false,
                 wait.kind == WaitKind::kFor ? "waits for " + short_text(wait.length)
                                             : "waits until " + wait.until.text,
                 {}},
                "its time is up", until);
      break;
    case WaitKind::kSignal:
      found.add(
          {WaitReason::kWaitsForSignal, true,
           "waits for signal " + quoted(wait.text) + (limit.empty() ? "" : " (" + limit + ")"),
           "vortex runs signal " + run + " " + wait.text},
          until ? "the signal comes, or it times out" : "the signal comes", until);
      break;
    case WaitKind::kApproval:
      found.add({WaitReason::kWaitsForApproval, true,
                 "waits for approval \"" + wait.text + "\" (by " + roles_text(wait.by) +
                     (limit.empty() ? "" : "; " + limit) + ")",
                 "vortex runs approve " + run + "/" + spec.name},
                until ? "somebody approves or rejects it, or it times out"
                      : "somebody approves or rejects it",
                until);
      break;
  }
  Explanation out = std::move(found).explanation();
  for (const Obstacle& obstacle : out.obstacles) out.details.push_back(obstacle.what);
  return out;
}

// How far the child is, for people.
std::string child_text(Context& cx, RunId id) {
  const RunIx ix = cx.state.runs.find(id);
  if (!ix.valid()) return "waits for child run " + to_text(id);
  const Run& child = cx.run(ix);
  const auto of = [&](TaskState state) { return child.made[number_of(state)]; };
  const std::string out =
      "waits for child run " + to_text(id) + " of DAG " + quoted(child.plan->spec.name) + ": " +
      std::to_string(of(TaskState::kCompleted)) + " of " + count_text(child.plan->tasks, "task") +
      " completed, " + std::to_string(of(TaskState::kScheduled) + of(TaskState::kRunning)) +
      " running, " + std::to_string(of(TaskState::kFailed)) + " failed";
  if (child.ending != RunEnding::kNone) return out + "; it is being cancelled";
  return is_paused(child) ? out + "; it is paused" : out;
}

// What a sub-DAG waits for, when it is not for its turn.
Explanation why_child(Context& cx, const Task& task, const Queued& queued) {
  const Run& run = cx.run_of(task);
  Obstacles found;
  if (queued.place == Queued::Place::kChild) {
    const bool stops = queued.stop != StopReason::kNone;
    found.add({stops ? WaitReason::kStopping : WaitReason::kWaitsForChild, false,
               child_text(cx, queued.child), "vortex runs show " + to_text(queued.child)},
              "its child run ends");
  }
  if (queued.place == Queued::Place::kRunParked) {
    const RunId paused = run.paused ? run.id : run.request->parent;
    found.add({WaitReason::kRunPaused, true, "run " + to_text(paused) + " is paused",
               "vortex runs resume " + to_text(paused)},
              "the run is resumed");
  }
  if (queued.place == Queued::Place::kNodeParked) {
    found.add({WaitReason::kMapAtLimit,
               false,
               "its map runs at most " + count_text(parallel_max(cx.spec_of(task)), "task") +
                   " at a time",
               {}},
              "another task of the map ends");
  }
  if (queued.place == Queued::Place::kNowhere) {
    found.add({WaitReason::kBackoff, false, "waits for the delay before its next try", {}},
              "the delay before its next try is over", cx.state.clock.term_time(queued.ready_at));
  }
  Explanation out = std::move(found).explanation();
  for (const Obstacle& obstacle : out.obstacles) out.details.push_back(obstacle.what);
  if (task.notes && !task.notes->error.empty()) {
    out.details.push_back("its last try: " + task.notes->error);
  }
  return out;
}

}  // namespace

Explanation why_queued(Context& cx, const Task& task, const Queued& queued) {
  if (cx.spec_of(task).wait) return why_wait(cx, task, queued);
  if (cx.spec_of(task).child) return why_child(cx, task, queued);
  const Run& run = cx.run_of(task);
  const ClassIx cls = run.nodes[task.node].cls;
  const Requirements& need = cx.state.ready[cls].requirements;
  const Fleet fleet = look_at_all(cx, cls);
  Obstacles found;
  add_pauses(run, cx.state.ready[cx.state.ready[cls].queue], found);
  for (const LimitIx limit : cx.state.ready[cls].limits) {
    auto one = obstacle_of(cx.state, limit, task, cx.now);
    if (one) found.add(std::move(one->obstacle), std::move(one->moves_when), one->until);
  }
  add_fleet(cx, fleet, need, found);
  if (queued.place == Queued::Place::kNowhere) {
    found.add({WaitReason::kBackoff, false, "waits for the delay before its next try", {}},
              "the delay before its next try is over", cx.state.clock.term_time(queued.ready_at));
  }
  if (queued.place == Queued::Place::kNodeParked) {
    found.add({WaitReason::kMapAtLimit,
               false,
               "its map runs at most " + count_text(cx.spec_of(task).map->max_parallel, "task") +
                   " at a time",
               {}},
              "another task of the map ends");
  }
  if (queued.place == Queued::Place::kReady) add_own(cx, task, queued, found);
  if (found.empty()) {
    found.add({WaitReason::kBehindOthers, false, "others are ahead of it in the queue", {}},
              "it is its turn (by priority, then age)");
  }
  Explanation out = std::move(found).explanation();
  for (const Obstacle& obstacle : out.obstacles) out.details.push_back(obstacle.what);
  name_workers(cx, fleet, need, out);
  return out;
}

}  // namespace vortex::core
