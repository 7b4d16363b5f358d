#include "core/explain.h"

#include <algorithm>
#include <utility>

#include "core/context.h"
#include "core/machine.h"

namespace vortex::core {
namespace {

struct Fitting {
  std::uint32_t all = 0;
  std::uint32_t gone = 0;
  std::uint32_t barred = 0;
  std::uint32_t full = 0;
  std::vector<std::string> barred_by;  // one line per worker that takes no work
  Instant probation_at = kNever;       // when the first of them begins its probation
};

// "1 task", "2 tasks"
std::string count_text(std::uint64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

Explanation because(WaitReason reason, std::string moves_when,
                    std::vector<std::string> details = {}) {
  Explanation out;
  out.reason = reason;
  out.moves_when = std::move(moves_when);
  out.details = std::move(details);
  return out;
}

std::string_view outcome_text(NodeOutcome outcome) {
  constexpr std::string_view kTexts[] = {"completed", "failed", "was skipped", "was cancelled"};
  return kTexts[static_cast<std::size_t>(outcome)];
}

std::vector<std::string> how_needs_stand(const Run& run, std::uint32_t index) {
  std::vector<std::string> details;
  for (const std::uint32_t need : run.plan->nodes[index].needs) {
    const NodeRun& node = run.nodes[need];
    const std::string& name = run.plan->node_spec(need).name;
    if (node.phase == NodePhase::kDone) {
      details.push_back("'" + name + "' " + std::string(outcome_text(node.outcome)));
    } else {
      details.push_back("'" + name + "' has not ended: " + std::to_string(node.finals) + " of " +
                        count_text(run.plan->nodes[need].tasks, "task") + " done");
    }
  }
  return details;
}

Explanation why_waiting(const Run& run, std::uint32_t index) {
  if (run.nodes[index].phase == NodePhase::kGated) {
    return because(WaitReason::kLevelClosed, "all tasks of the lower levels end",
                   {"level " + std::to_string(run.plan->nodes[index].level) + ", " +
                    count_text(run.levels_passed, "level") + " complete"});
  }
  return because(WaitReason::kNeedsOpen, "the tasks it needs end as its trigger rule requires",
                 how_needs_stand(run, index));
}

std::string why_barred(const Worker& worker) {
  const std::string name = "'" + worker.info->id.text + "'";
  if (worker.state == WorkerState::kDraining) return name + " is draining";
  if (!worker.is_trusted() || worker.lost_pending) return name + " is suspect and may be gone";
  if (worker.blame == WorkerBlame::kCordoned) {
    return name + " is cordoned because tasks died abnormally on it; probation follows";
  }
  if (worker.cordoned) return name + " is cordoned by an operator";
  return name + " has not sent a heartbeat yet";
}

Fitting count_fitting(Context& cx, ClassIx cls) {
  Fitting out;
  const Resources& demand = cx.state.ready[cls].requirements.resources;
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const WorkerIx ix{i};
    if (!cx.state.workers.is_known(ix) || !worker_fits(cx, ix, cls)) continue;
    const Worker& worker = cx.worker(ix);
    ++out.all;
    if (!is_present(worker.state)) {
      ++out.gone;
    } else if (!worker.takes_work()) {
      ++out.barred;
      out.barred_by.push_back(why_barred(worker));
      out.probation_at = std::min(out.probation_at, worker.probation_at);
    } else if (worker.capacity() == 0 || !resources_fit(worker, demand)) {
      ++out.full;
    }
  }
  return out;
}

Explanation why_no_worker(Context& cx, ClassIx cls) {
  const Fitting fitting = count_fitting(cx, cls);
  const Requirements& need = cx.state.ready[cls].requirements;
  const std::string counted = count_text(fitting.all, "matching worker") + ": " +
                              std::to_string(fitting.gone) + " offline, " +
                              std::to_string(fitting.barred) + " unavailable, " +
                              std::to_string(fitting.full) + " busy";
  if (fitting.all == 0) {
    return because(WaitReason::kNoSuchWorker, "a worker registers for queue '" + need.queue +
                                                  "' with the required labels, runtime and id");
  }
  if (fitting.gone == fitting.all) {
    return because(WaitReason::kFittingWorkersGone, "one of them comes back", {counted});
  }
  if (fitting.gone + fitting.barred == fitting.all) {
    std::vector<std::string> details{counted};
    details.insert(details.end(), fitting.barred_by.begin(), fitting.barred_by.end());
    const bool blamed = fitting.probation_at != kNever;
    Explanation out = because(WaitReason::kFittingWorkersBarred,
                              blamed ? "one of them begins its probation or is heard from again"
                                     : "one of them is uncordoned or heard from again",
                              std::move(details));
    if (blamed) out.moves_at = fitting.probation_at;
    return out;
  }
  if (fitting.gone + fitting.barred + fitting.full == fitting.all) {
    return because(WaitReason::kFittingWorkersFull,
                   "one of them has a free slot and enough resources", {counted});
  }
  return because(WaitReason::kBehindOthers, "it is its turn (by priority, then age)", {counted});
}

Explanation why_queued(Context& cx, const Task& task, const Queued& queued) {
  const Run& run = cx.run_of(task);
  const TaskClass& cls = cx.state.ready[run.nodes[task.node].cls];
  switch (queued.place) {
    case Queued::Place::kNowhere: {
      Explanation out = because(WaitReason::kBackoff, "the delay before its next try is over");
      out.moves_at = cx.state.clock.term_time(queued.ready_at);
      return out;
    }
    case Queued::Place::kRunParked:
      return because(WaitReason::kRunPaused, "the run is resumed");
    case Queued::Place::kNodeParked:
      return because(WaitReason::kMapAtLimit, "another task of the map ends",
                     {"max_parallel is " + std::to_string(cx.spec_of(task).map->max_parallel)});
    case Queued::Place::kReady:
      break;
  }
  if (cx.state.ready[cls.queue].paused) {
    return because(WaitReason::kQueuePaused, "the queue is resumed",
                   {"queue '" + cls.requirements.queue + "'"});
  }
  Explanation out = why_no_worker(cx, run.nodes[task.node].cls);
  if (queued.keep_away && out.reason == WaitReason::kBehindOthers) {
    out.reason = WaitReason::kKeepsAway;
    out.details.push_back("its last try was on '" + cx.worker(queued.last_worker).info->id.text +
                          "'");
    out.moves_when = "another worker has room, or it has waited long enough";
    out.moves_at = cx.state.clock.term_time(queued.waiting_since + cx.state.policy.keep_away);
  }
  if (out.reason == WaitReason::kBehindOthers && on_last_try(cx.state.policy, task)) {
    out.reason = WaitReason::kLastTryApart;
    out.details.push_back(count_text(task.counters.crashes, "worker") +
                          " died while running it; one more and it becomes a dead letter");
    out.moves_when = "a worker has room and is not running another suspect on its last try";
  }
  return out;
}

Explanation why_held(Context& cx, TaskIx ix) {
  const Task& task = cx.task(ix);
  const Grant& grant = *task.grant();
  const Worker& worker = cx.worker(grant.worker);
  Explanation out;
  out.details.push_back("on worker '" + worker.info->id.text + "', attempt " +
                        std::to_string(task.counters.attempts));
  if (!worker.is_trusted()) out.details.emplace_back("that worker is suspect and may be gone");
  if (const auto at = cx.state.timers.at({TimerKind::kTask, ix.value})) {
    out.moves_at = cx.state.clock.term_time(*at);
  }
  if (grant.stop != StopReason::kNone) {
    out.reason = WaitReason::kStopping;
    out.moves_when = "the worker confirms that its processes are gone, or a full lease has passed";
  } else if (std::holds_alternative<Scheduled>(task.phase)) {
    out.reason = WaitReason::kNotStartedYet;
    out.moves_when = "the worker reports the start, or the scheduled timeout passes";
  } else {
    out.reason = WaitReason::kRunning;
    out.moves_when = "it ends, or a timeout stops it";
  }
  return out;
}

Explanation why_skipped(const Run& run, std::uint32_t node) {
  if (std::ranges::find(run.stopped_maps, node) != run.stopped_maps.end()) {
    return because(WaitReason::kFinal, "a failed item of its map is retried",
                   {"its map stopped after too many failures"});
  }
  return because(WaitReason::kFinal, "a failed task that it needs is retried and completes",
                 how_needs_stand(run, node));
}

Explanation why_unmade(const Run& run, std::uint32_t index) {
  const std::uint32_t node = run.plan->node_of_task(index);
  if (run.nodes[node].phase == NodePhase::kDone) {
    return because(WaitReason::kFinal, "never: it was not created, because its map ended first");
  }
  if (run.nodes[node].phase == NodePhase::kActive) {
    return because(WaitReason::kNotMadeYet, "the items before it have been created");
  }
  Explanation out = why_waiting(run, node);
  out.reason = WaitReason::kNotMadeYet;
  return out;
}

}  // namespace

Explanation explain(State& state, TaskId id, Instant now) {
  Context cx(state, now);
  const RunIx run_ix = state.runs.find(id.run);
  if (!run_ix.valid() || id.index >= state.runs[run_ix].tasks.size()) {
    return because(WaitReason::kUnknownTask, "never: no live run has this task");
  }
  const Run& run = state.runs[run_ix];
  const TaskIx ix = run.tasks[id.index];
  if (!ix.valid()) return why_unmade(run, id.index);
  const Task& task = state.tasks[ix];
  Explanation out;
  if (std::holds_alternative<Waiting>(task.phase)) out = why_waiting(run, task.node);
  if (const auto* queued = std::get_if<Queued>(&task.phase)) out = why_queued(cx, task, *queued);
  if (task.grant() != nullptr) out = why_held(cx, ix);
  if (std::holds_alternative<Final>(task.phase)) {
    out = because(WaitReason::kFinal, "an operator retries it");
    if (task.state() == TaskState::kSkipped) out = why_skipped(run, task.node);
    if (task.notes && !task.notes->error.empty()) out.details.push_back(task.notes->error);
  }
  if (run.ending != RunEnding::kNone) out.details.emplace_back("its run is being cancelled");
  out.state = task.state();
  return out;
}

std::string_view to_text(WaitReason reason) {
  constexpr std::string_view kTexts[] = {"unknown_task",
                                         "final",
                                         "not_made_yet",
                                         "needs_open",
                                         "level_closed",
                                         "backoff",
                                         "run_paused",
                                         "queue_paused",
                                         "map_at_limit",
                                         "no_such_worker",
                                         "fitting_workers_gone",
                                         "fitting_workers_barred",
                                         "fitting_workers_full",
                                         "keeps_away",
                                         "last_try_apart",
                                         "behind_others",
                                         "not_started_yet",
                                         "running",
                                         "stopping"};
  return kTexts[static_cast<std::size_t>(reason)];
}

namespace {

void count_ready(const State& state, const TaskClass& cls, QueueDepth& depth) {
  depth.ready += cls.ready;
  for (const PriorityList& list : cls.lists) {
    if (!list.tasks.head.valid()) continue;
    const auto* queued = std::get_if<Queued>(&state.tasks[list.tasks.head].phase);
    if (queued == nullptr) continue;
    const Instant since = state.clock.term_time(queued->waiting_since);
    depth.oldest_ready = std::min(depth.oldest_ready.value_or(since), since);
  }
}

}  // namespace

std::vector<QueueDepth> queue_depths(const State& state) {
  std::vector<QueueDepth> depths(state.ready.queues());
  for (std::uint32_t i = 0; i < depths.size(); ++i) {
    depths[i].name = state.ready[QueueIx{i}].name;
    depths[i].paused = state.ready[QueueIx{i}].paused;
  }
  for (std::uint32_t i = 0; i < state.ready.classes(); ++i) {
    const TaskClass& cls = state.ready[ClassIx{i}];
    if (cls.users > 0) count_ready(state, cls, depths[cls.queue.value]);
  }
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
    const Worker& worker = state.workers[WorkerIx{i}];
    if (!is_present(worker.state)) continue;
    for (const QueueIx queue : state.ready[worker.profile].queues) ++depths[queue.value].workers;
    for (TaskIx at = worker.held.head; at.valid(); at = state.tasks[at].links.next) {
      const Task& task = state.tasks[at];
      const ClassIx cls = state.runs[task.run].nodes[task.node].cls;
      ++depths[state.ready[cls].queue.value].held;
    }
  }
  return depths;
}

}  // namespace vortex::core
