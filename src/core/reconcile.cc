#include "core/reconcile.h"

#include <algorithm>
#include <utility>

#include "core/machine.h"

namespace vortex::core {

namespace {

class Check {
 public:
  explicit Check(const State& state) : state_(state) {}

  void light() {
    for (std::uint32_t i = 0; i < state_.workers.size(); ++i) check_worker({i});
    check_machines();
  }

  void thorough() {
    for (std::size_t slot = 0; slot < state_.runs.slots(); ++slot) {
      const Run* run = state_.runs.at_slot(slot);
      if (run != nullptr) check_run(*run);
    }
    lists();
  }

  void lists() {
    for (std::string& what : wrong_groups(state_)) findings_.push_back({std::move(what)});
    for (std::string& what : wrong_limits(state_)) findings_.push_back({std::move(what)});
    check_ready_lists();
    check_idle_offers();
  }

  // The next runs, until enough tasks were looked at. False: there are no more.
  bool next_runs(CheckProgress& progress) {
    std::uint32_t looked = 0;
    for (; progress.slot < state_.runs.slots(); ++progress.slot) {
      if (looked >= kTasksAtOnce) return true;
      const Run* run = state_.runs.at_slot(progress.slot);
      if (run == nullptr) continue;
      if (run->plan->tasks > kWholeRunMax) {
        looked = kTasksAtOnce;
        if (!part_of_large(*run, progress)) return true;
      } else {
        check_run(*run);
        looked += run->plan->tasks;
      }
      ++progress.runs;
      progress.tasks += run->plan->tasks;
    }
    return false;
  }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  static constexpr std::uint32_t kTasksAtOnce = 5'000;
  static constexpr std::uint32_t kWholeRunMax = 50'000;
  static constexpr std::uint32_t kRestartsMax = 3;

  // A run too large for one part. When it changes between two parts the count begins again, and
  // after a few times it is left to a quieter moment. True: done with it.
  bool part_of_large(const Run& run, CheckProgress& progress) {
    if (progress.run != run.id) progress.run = run.id, progress.restarts = 0, progress.next = 0;
    if (progress.next > 0 && progress.changes != run.changes) {
      progress.next = 0;
      if (++progress.restarts > kRestartsMax) return true;
    }
    if (progress.next == 0) {
      progress.changes = run.changes;
      progress.counts.assign(run.nodes.size(), {});
    }
    const std::uint32_t end = std::min(progress.next + kWholeRunMax, run.plan->tasks);
    count_tasks(run, progress.next, end, progress.counts);
    progress.next = end;
    if (end < run.plan->tasks) return false;
    judge_run(run, progress.counts);
    return true;
  }

  // `what` is called only for a finding: millions of things are looked at and found right.
  template <class What>
  void expect(bool holds, What what) {
    if (!holds) findings_.push_back({what()});
  }

  void check_worker(WorkerIx ix) {
    const Worker& worker = state_.workers[ix];
    const auto expect_of = [&](bool holds, const char* what) {
      expect(holds, [&] { return "worker '" + worker.info->id.text + "': " + what; });
    };
    std::uint32_t held = 0;
    Usage used;
    for (TaskIx t = worker.held.head; t.valid(); t = state_.tasks[t].links.next) {
      const Task& task = state_.tasks[t];
      const Grant* grant = task.grant();
      expect_of(grant != nullptr && grant->worker == ix, "lists a task that it does not hold");
      const Resources& demand =
          state_.runs[task.run].plan->node_spec(task.node).requirements.resources;
      used.cpu_milli += demand.cpu_milli;
      used.memory_bytes += demand.memory_bytes;
      ++held;
    }
    expect_of(held == worker.held.size, "count of held tasks is wrong");
    expect_of(
        used.cpu_milli == worker.used.cpu_milli && used.memory_bytes == worker.used.memory_bytes,
        "resources in use do not match its tasks");
    expect_of(worker.planted.leaked() == 0, "a slot is in use without a task");
    expect_of(is_present(worker.state) || held == 0, "gone, but still holds tasks");
    const bool running = worker.state == WorkerState::kRunning;
    const bool idle = worker.state == WorkerState::kIdle;
    expect_of((!running || held > 0) && (!idle || held == 0), "state does not match its tasks");
  }

  void check_machines() {
    std::map<MachineId, std::uint32_t> present;
    for (std::uint32_t i = 0; i < state_.workers.size(); ++i) {
      const Worker& worker = state_.workers[{i}];
      if (is_present(worker.state)) ++present[worker.info->machine];
    }
    for (const auto& [id, machine] : state_.machines) {
      const auto named = [&](const char* what) { return "machine '" + id.text + "': " + what; };
      expect(machine.present == present[id], [&] { return named("count of workers is wrong"); });
      expect(machine.online == (machine.present > 0), [&] { return named("status is wrong"); });
    }
  }

  // Counts tasks [from, to) of a run, each by what it really is.
  void count_tasks(const Run& run, std::uint32_t from, std::uint32_t to,
                   std::vector<NodeCount>& counts) {
    for (std::uint32_t n = 0; n < run.nodes.size(); ++n) {
      const std::uint32_t first = run.plan->first_task(n);
      const std::uint32_t end = std::min(to, first + run.plan->tasks_of(n));
      for (std::uint32_t i = std::max(from, first); i < end; ++i) {
        if (run.tasks[i].valid()) count_task(run, run.tasks[i], counts[n]);
      }
    }
  }

  void count_task(const Run& run, TaskIx ix, NodeCount& count) {
    const Task& task = state_.tasks[ix];
    const auto* queued = std::get_if<Queued>(&task.phase);
    ++count.created;
    count.finals += is_final(task.state()) ? 1 : 0;
    const bool placed = queued && (queued->place == Queued::Place::kReady ||
                                   queued->place == Queued::Place::kChild);
    count.in_play += task.grant() || placed ? 1 : 0;
    ++count.made[number_of(task.state())];
    check_timer(run, ix, task);
  }

  void judge_node(const Run& run, std::uint32_t index, const NodeCount& count) {
    const NodeRun& node = run.nodes[index];
    const auto expect_of = [&](bool holds, const char* what) {
      expect(holds, [&] {
        return to_text(run.id) + " node " + run.plan->node_spec(index).name + ": " + what;
      });
    };
    expect_of(count.created == node.created, "count of tasks is wrong");
    expect_of(count.finals == node.finals, "count of finished tasks is wrong");
    expect_of(count.in_play == node.in_play, "count of tasks in play is wrong");
    const std::uint32_t most = parallel_max(run.plan->node_spec(index));
    expect_of(most == 0 || count.in_play <= most, "more in play than max_parallel");
    expect_of(node.phase != NodePhase::kDone || count.finals == count.created,
              "done with open tasks");
  }

  // Nothing that is held or in backoff may be without a deadline: it could wait for ever.
  void check_timer(const Run& run, TaskIx ix, const Task& task) {
    const auto* queued = std::get_if<Queued>(&task.phase);
    const bool must = task.grant() || (queued && queued->place == Queued::Place::kNowhere);
    const bool has = state_.timers.at({TimerKind::kTask, ix.value}).has_value();
    const bool promised = state_.promises.at({TimerKind::kTask, ix.value}).has_value();
    const bool waits = queued && queued->place == Queued::Place::kWait && queued->due != kNever;
    expect(promised == waits, [&] {
      return to_text(run.id) + " task " + std::to_string(task.index) +
             (waits ? ": a wait has no end" : ": no wait, but has an end of one");
    });
    if ((has || !must) && (!has || !is_final(task.state()))) return;
    const auto named = [&](const char* what) {
      return to_text(run.id) + " task " + std::to_string(task.index) + ": " + what;
    };
    expect(has || !must, [&] { return named("a task that needs a deadline has none"); });
    expect(!has || !is_final(task.state()),
           [&] { return named("a finished task has a deadline"); });
  }

  void check_run(const Run& run) {
    std::vector<NodeCount> counts(run.nodes.size());
    count_tasks(run, 0, run.plan->tasks, counts);
    judge_run(run, counts);
  }

  void judge_run(const Run& run, const std::vector<NodeCount>& counts) {
    std::vector<std::uint32_t> open(run.plan->levels, 0);
    std::uint32_t nodes_open = 0;
    std::uint32_t ordinary_open = 0;
    TaskCounts made{};
    for (std::uint32_t i = 0; i < run.nodes.size(); ++i) {
      judge_node(run, i, counts[i]);
      for (std::size_t state = 0; state < kTaskStates; ++state)
        made[state] += counts[i].made[state];
      if (run.nodes[i].phase == NodePhase::kDone) continue;
      ++nodes_open;
      if (!run.plan->node_spec(i).finally) ++ordinary_open;
      ++open[run.plan->nodes[i].level];
    }
    const auto expect_of = [&](bool holds, const char* what) {
      expect(holds, [&] { return to_text(run.id) + ": " + what; });
    };
    expect_of(nodes_open == run.nodes_open, "count of open nodes is wrong");
    const bool parted = nodes_open != run.nodes_open || ordinary_open == run.ordinary_open;
    expect_of(parted, "count of open nodes before finally is wrong");
    for (const RunId child : run.children) {
      expect_of(state_.runs.find(child).valid(), "has a child run that is not live");
    }
    expect_of(made == run.made, "count of tasks by state is wrong");
    expect_of(open == run.level_open, "open nodes by level are wrong");
    for (std::uint32_t level = 0; level < run.levels_passed; ++level) {
      expect_of(open[level] == 0, "level was marked done with open tasks");
    }
  }

  void check_ready_lists() {
    for (std::uint32_t i = 0; i < state_.ready.classes(); ++i) {
      const TaskClass& cls = state_.ready[ClassIx{i}];
      std::uint32_t listed = 0;
      for (const PriorityList& list : cls.lists) listed += list.tasks.size;
      expect(listed == cls.ready, [] { return "a ready list does not match its count"; });
    }
  }

  // No ready task may stand beside an offering worker that could take it; a task that keeps away
  // from a worker, or a lack of resources, is a reason, so only the clear case is judged.
  void check_idle_offers() {
    if (!state_.offering.empty() || !state_.ready.dirty.empty() || !state_.bulk.empty()) return;
    for (std::uint32_t q = 0; q < state_.ready.queues(); ++q) {
      const Queue& queue = state_.ready[QueueIx{q}];
      if (queue.paused || queue.offers.empty()) continue;
      for (const HeadKey& head : queue.heads) check_class_waits(queue, head.cls);
    }
  }

  void check_class_waits(const Queue& queue, ClassIx ix) {
    const TaskClass& cls = state_.ready[ix];
    const Requirements& need = cls.requirements;
    const Task& head = state_.tasks[cls.lists.front().tasks.head];
    const bool stays_away =
        std::get<Queued>(head.phase).keep_away || on_last_try(state_.policy, head);
    const bool simple = need.labels.empty() && need.runtime.empty() && need.worker.empty() &&
                        need.user.empty() && need.resources == Resources{} && !stays_away;
    expect(!simple, [&] {
      return "a ready task is waiting in queue '" + queue.name + "' although a worker has room";
    });
  }

  const State& state_;
  std::vector<Finding> findings_;
};

void arm(Context& cx, OwnTimer timer, Duration in) {
  cx.state.timers.set({TimerKind::kOwn, static_cast<std::uint32_t>(timer)}, cx.judged + in);
}

}  // namespace

bool check_part(const State& state, CheckProgress& progress) {
  Check check(state);
  bool more = true;
  if (!progress.begun) {
    progress.begun = true;
    check.light();
    check.lists();
  } else {
    more = check.next_runs(progress);
  }
  for (Finding& finding : check.take()) progress.findings.push_back(std::move(finding.what));
  return more;
}

std::vector<Finding> check_state(const State& state, Depth depth) {
  Check check(state);
  check.light();
  if (depth == Depth::kThorough) check.thorough();
  return check.take();
}

void note_repair(Context& cx, TaskIx task, const char* what, RunIx run) {
  cx.event(EventKind::kStateReconcileFix, {.worker = {}, .task = task, .run = run},
           {{"what", std::string(what)}}, Severity::kWarning);
}

void repair_held(Context& cx) {
  for (std::uint32_t i = 0; i < cx.state.workers.size(); ++i) {
    const Worker& worker = cx.worker({i});
    if (is_present(worker.state) || worker.held.empty()) continue;
    note_repair(cx, worker.held.head, "task was assigned to a worker that is gone");
    lose_worker(cx, {i}, Evidence::kReconciler);
  }
}

bool gone_hold_work(const State& state) {
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
    const Worker& worker = state.workers[{i}];
    if (!is_present(worker.state) && !worker.held.empty()) return true;
  }
  return false;
}

void on_reconcile_timer(Context& cx) {
  arm(cx, OwnTimer::kReconcile, cx.state.policy.reconcile_interval);
  QuietPasses& passes = cx.state.reconcile_passes;
  ++passes.since_told;
  bool told = passes.is_due(gone_hold_work(cx.state), cx.state.policy.reconcile_interval);
  if (told) cx.event(EventKind::kStateReconcileStart, {});
  repair_held(cx);
  forget_old_workers(cx);
  forget_old_leases(cx);
  auto findings = check_state(cx.state, Depth::kLight);
  if (!told && !findings.empty()) told = true, cx.event(EventKind::kStateReconcileStart, {});
  for (Finding& finding : findings) doubt(cx, std::move(finding.what));
  if (!told) return;
  cx.event(EventKind::kStateReconcileComplete, {},
           {{"findings", static_cast<std::int64_t>(findings.size())},
            {"passes", std::int64_t{passes.tell()}}});
}

void on_note_findings(Context& cx, const NoteFindings& command) {
  for (const std::string& what : command.findings) {
    cx.event(EventKind::kStateReconcileFix, {},
             {{"what", what},
              {"repair",
               std::string(command.repaired ? "state reloaded from the database" : "none needed")}},
             Severity::kError);
  }
}

void doubt(Context& cx, std::string what) {
  cx.fx.reload = true;
  cx.fx.findings.push_back(std::move(what));
}

bool node_really_complete(Context& cx, RunIx ix, std::uint32_t index) {
  const Run& run = cx.run(ix);
  const std::uint32_t first = run.plan->first_task(index);
  const std::uint32_t end = first + run.plan->tasks_of(index);
  std::uint32_t open = 0;
  for (std::uint32_t i = first; i < end; ++i) {
    const TaskIx task = run.tasks[i];
    if (task.valid() && !is_final(cx.task(task).state())) ++open;
  }
  if (open == 0) return true;
  doubt(cx, to_text(run.id) + " node " + run.plan->node_spec(index).name +
                ": marked as done, but " + std::to_string(open) + " of its tasks are open");
  return false;
}

bool level_really_complete(Context& cx, RunIx ix, std::uint32_t level) {
  const Run& run = cx.run(ix);
  bool complete = true;
  for (const std::uint32_t node : run.plan->nodes_by_level[level]) {
    const bool done = run.nodes[node].phase == NodePhase::kDone;
    if (!done)
      doubt(cx, to_text(run.id) + ": level " + std::to_string(level) +
                    " marked as done with an open node");
    if (!done || !node_really_complete(cx, ix, node)) complete = false;
  }
  if (level >= run.levels_known) {
    cx.event(EventKind::kLevelCheck, {.worker = {}, .task = {}, .run = ix},
             {{"dag_level", std::int64_t{level}}, {"complete", std::int64_t{complete}}});
  }
  return complete;
}

void start_own_timers(Context& cx) {
  arm(cx, OwnTimer::kHealthPass, cx.state.policy.health_check_interval);
  arm(cx, OwnTimer::kReconcile, cx.state.policy.reconcile_interval);
}

}  // namespace vortex::core
