#include "core/explain.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/context.h"
#include "core/machine.h"
#include "core/obstacles.h"
#include "model/schedule.h"

namespace vortex::core {
namespace {

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
      const std::string tasks = run.plan->is_counted(need)
                                    ? count_text(run.plan->tasks_of(need), "task")
                                    : std::string("an unknown number of tasks");
      std::string text = "'" + name + "' has not ended: " + std::to_string(node.finals);
      text += " of " + tasks + " done";
      details.push_back(std::move(text));
    }
  }
  return details;
}

Explanation why_waiting(const Run& run, std::uint32_t index) {
  if (is_ahead(run, index)) {
    Explanation out = because(WaitReason::kRunNotBegun, "the start time of its run comes",
                              {"its run starts at " + slot_text(run.starts_at)});
    out.moves_at = run.starts_at;
    return out;
  }
  if (run.nodes[index].phase == NodePhase::kGated) {
    return because(WaitReason::kLevelClosed, "all tasks of the lower levels end",
                   {"level " + std::to_string(run.plan->nodes[index].level) + ", " +
                    count_text(run.levels_passed, "level") + " complete"});
  }
  if (is_last(run, index) && run.ordinary_open > 0) {
    return because(WaitReason::kOthersOpen, "all tasks outside of 'finally' end",
                   {"it is in 'finally'; " + count_text(run.ordinary_open, "task") +
                    " of the others not ended (maps count once)"});
  }
  std::vector<std::string> details = how_needs_stand(run, index);
  for (std::string& open : condition_waits_for(run, index)) details.push_back(std::move(open));
  for (std::string& open : map_waits_for(run, index)) details.push_back(std::move(open));
  return because(WaitReason::kNeedsOpen, "the tasks it needs end as its trigger rule requires",
                 std::move(details));
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
  if (judge_node(run, node) == RuleSays::kSkip) {
    return because(WaitReason::kFinal, "a failed task that its condition refers to is retried",
                   {why_condition(run, node)});
  }
  return because(WaitReason::kFinal, "a failed task that it needs is retried and completes",
                 how_needs_stand(run, node));
}

Explanation why_unmade(const Run& run, std::uint32_t index) {
  const std::uint32_t node = run.plan->node_of_task(index);
  if (run.nodes[node].phase == NodePhase::kDone) {
    if (judge_node(run, node) == RuleSays::kSkip) return why_skipped(run, node);
    return because(WaitReason::kFinal,
                   "never: it was not created, because its map or run ended first");
  }
  if (run.nodes[node].phase == NodePhase::kActive) {
    return because(WaitReason::kNotMadeYet, "the tasks before it have been created");
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
  if (run.waits_for_turn && run.ending == RunEnding::kNone) return why_no_turn(state, run);
  const TaskIx ix = run.tasks[id.index];
  if (!ix.valid()) return why_unmade(run, id.index);
  const Task& task = state.tasks[ix];
  Explanation out;
  if (std::holds_alternative<Waiting>(task.phase)) {
    out = why_waiting(run, task.node);
    if (run.paused) out.details.emplace_back("its run is paused");
    if (run.paused_above) out.details.emplace_back("a run that it is a sub-DAG of is paused");
  }
  if (const auto* queued = std::get_if<Queued>(&task.phase)) out = why_queued(cx, task, *queued);
  if (task.grant() != nullptr) out = why_held(cx, ix);
  if (std::holds_alternative<Final>(task.phase)) {
    out = because(WaitReason::kFinal, "an operator retries it");
    if (task.state() == TaskState::kSkipped) out = why_skipped(run, task.node);
    const bool told = task.state() == TaskState::kSkipped;  // why_skipped says it
    if (!told && task.notes && !task.notes->error.empty()) out.details.push_back(task.notes->error);
    if (task.notes && !task.notes->reused_from.empty()) {
      out.details.push_back("it did not run: its result is that of " + task.notes->reused_from);
    }
  }
  if (ending_of(run, task.node) != RunEnding::kNone) {
    out.details.emplace_back("its run is being cancelled");
  }
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
                                         "resources_nowhere",
                                         "fitting_workers_gone",
                                         "fitting_workers_barred",
                                         "fitting_workers_full",
                                         "keeps_away",
                                         "last_try_apart",
                                         "behind_others",
                                         "not_started_yet",
                                         "running",
                                         "stopping",
                                         "waits_for_time",
                                         "waits_for_signal",
                                         "waits_for_approval",
                                         "others_open",
                                         "waits_for_turn",
                                         "limit_full",
                                         "no_such_limit",
                                         "waits_for_child",
                                         "run_not_begun"};
  return kTexts[static_cast<std::size_t>(reason)];
}

namespace {

constexpr std::uint32_t kTasksLookedAt = 20'000;
constexpr std::uint32_t kClassesLookedAt = 64;
constexpr std::size_t kStandstillsMax = 8;

// What passes by itself is no standstill.
void add_standstill(Context& cx, TaskIx ix, std::uint64_t tasks, std::vector<Standstill>& out) {
  const Task& task = cx.task(ix);
  const auto* queued = std::get_if<Queued>(&task.phase);
  if (queued == nullptr) return;
  Explanation why = why_queued(cx, task, *queued);
  if (!why.obstacles.front().permanent) return;
  why.state = TaskState::kQueued;
  out.push_back({tasks, cx.id_of(task), std::move(why)});
}

std::vector<Standstill> standstills_of(Context& cx, const Run& run) {
  struct Kind {
    ClassIx cls;
    Queued::Place place = Queued::Place::kNowhere;
    TaskIx first;
    std::uint64_t tasks = 0;
  };
  if (run.waits_for_turn && run.ending == RunEnding::kNone) {
    return {{run.plan->tasks, {run.id, 0, 0}, why_no_turn(cx.state, run)}};
  }
  std::vector<Kind> kinds;
  const std::size_t end = std::min<std::size_t>(run.tasks.size(), kTasksLookedAt);
  for (std::size_t i = 0; i < end; ++i) {
    if (!run.tasks[i].valid()) continue;
    const Task& task = cx.task(run.tasks[i]);
    const auto* queued = std::get_if<Queued>(&task.phase);
    if (queued == nullptr) continue;
    const ClassIx cls = run.nodes[task.node].cls;
    const auto same = [&](const Kind& kind) {
      return kind.cls == cls && kind.place == queued->place && kind.place != Queued::Place::kWait;
    };
    auto kind = std::ranges::find_if(kinds, same);
    if (kind == kinds.end() && kinds.size() == kStandstillsMax) continue;
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {cls, queued->place, run.tasks[i]});
    ++kind->tasks;
  }
  std::vector<Standstill> out;
  for (const Kind& kind : kinds) add_standstill(cx, kind.first, kind.tasks, out);
  return out;
}

std::vector<Standstill> standstills_of_queues(Context& cx) {
  std::vector<Standstill> out;
  std::uint32_t looked = 0;
  for (std::uint32_t i = 0; i < cx.state.ready.classes(); ++i) {
    const ClassIx ix{i};
    const TaskClass& cls = cx.state.ready[ix];
    if (cls.users == 0 || cls.ready == 0) continue;
    if (++looked > kClassesLookedAt || out.size() == kStandstillsMax) break;
    const auto is_unset = [&](LimitIx limit) { return !cx.state.limits[limit].is_set; };
    const bool is_lost = std::ranges::any_of(cls.limits, is_unset);
    if (!is_lost && !cx.state.ready[cls.queue].paused && has_way_on(cx, ix)) continue;
    add_standstill(cx, cls.lists.front().tasks.head, cls.ready, out);
  }
  return out;
}

}  // namespace

std::vector<Standstill> standstills(State& state, std::optional<RunId> id, Instant now) {
  Context cx(state, now);
  std::vector<Standstill> out;
  if (!id) {
    out = standstills_of_queues(cx);
  } else if (const RunIx run = state.runs.find(*id); run.valid()) {
    out = standstills_of(cx, state.runs[run]);
  }
  std::ranges::stable_sort(out, std::greater{}, &Standstill::tasks);
  return out;
}

std::vector<OpenApproval> open_approvals(const State& state, std::size_t most) {
  std::vector<OpenApproval> out;
  for (const TaskId& id : state.approvals) {
    if (out.size() == most) break;
    const Run& run = state.runs[state.runs.find(id.run)];
    const Task& task = state.tasks[run.tasks[id.index]];
    const NodeSpec& spec = run.plan->node_spec(task.node);
    const Instant due = std::get<Queued>(task.phase).due;
    out.push_back({id, spec.name, run.plan->spec.name, spec.wait->text, spec.wait->by, due});
  }
  return out;
}

namespace {

void count_ready(const State& state, const TaskClass& cls, QueueDepth& depth) {
  if (cls.blocked) return;  // no more workers would help
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
