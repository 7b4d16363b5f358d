#include "core/load.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/planted.h"
#include "core/machine.h"
#include "core/reconcile.h"

namespace vortex::core {

namespace {

void restore_worker(Context& cx, const WorkerRow& row) {
  const WorkerIx ix = cx.state.workers.add(row.info->id);
  Worker& worker = cx.worker(ix);
  static_cast<WorkerRow&>(worker) = row;
  worker.registered_once = true;
  worker.heartbeat_written = row.last_heartbeat;
  worker.heard_at = cx.judged;
  if (planted(PlantedBug::kOutageRuleOff) && row.last_heartbeat != kNever) {
    worker.heard_at = cx.state.clock.judged(row.last_heartbeat);
  }
  worker.profile = cx.state.ready.profile(*row.info);
  if (!is_present(row.state)) return;
  if (row.blame == WorkerBlame::kCordoned) {
    cx.state.timers.set({TimerKind::kProbation, ix.value}, cx.state.clock.judged(row.probation_at));
  }
  ++cx.state.machines[row.info->machine].present;
  cx.state.timers.set({TimerKind::kWorker, ix.value}, lease_end(cx.state, worker));
}

void restore_machines(Context& cx, const std::vector<MachineRow>& rows) {
  for (const MachineRow& row : rows) {
    Machine& machine = cx.state.machines[row.id];
    machine.online = row.online;
    machine.since = row.since;
  }
  for (auto& [id, machine] : cx.state.machines) {
    const bool online = machine.present > 0;
    if (machine.online == online) continue;
    machine.online = online;
    machine.since = cx.now;
    cx.touch(id);
    note_repair(cx, {}, "the status of the machine did not match its workers");
  }
}

// Its time goes on as it was promised, however long nobody was there.
Queued restored_wait(Context& cx, const TaskRow& row, const NodeSpec& spec) {
  Queued queued = newly_queued(cx, spec);
  if (!planted(PlantedBug::kWaitBeginsAnew)) queued.due = row.ready_at;
  return queued;
}

// Its attempt has a run if there is one that says so.
void restore_child(const Context& cx, const TaskRow& row, Queued& queued) {
  const auto child = cx.children_of.find({{row.id.run, row.id.index}, row.epoch});
  if (child == cx.children_of.end() || planted(PlantedBug::kChildMadeTwice)) return;
  queued.child = child->second;
  queued.stop = row.stop;
}

Phase phase_from(Context& cx, const TaskRow& row, const NodeSpec& spec, WorkerIx worker) {
  Grant grant;
  grant.worker = worker;
  grant.restored = true;
  grant.stop = row.stop;
  grant.granted_at = row.granted_at == kNever ? row.updated_at : row.granted_at;
  grant.stop_deadline = cx.judged + cx.state.policy.worker_lease;
  switch (row.state) {
    case TaskState::kWaiting:
      return Waiting{};
    case TaskState::kQueued: {
      if (spec.wait) return restored_wait(cx, row, spec);
      Queued queued;
      queued.ready_at = cx.state.clock.judged(row.ready_at);
      queued.recovery = row.recovery;
      queued.last_worker = cx.state.workers.find(row.previous_worker);
      if (spec.child) restore_child(cx, row, queued);
      return queued;
    }
    case TaskState::kScheduled:
      return Scheduled{grant};
    case TaskState::kRunning: {
      Running running;
      grant.acked = true;
      running.grant = grant;
      running.started = row.started_at;
      running.started_at = cx.state.clock.judged(row.started_at);
      running.progress_at = cx.judged;
      running.percent = row.percent;
      const bool spoke = row.percent > 0 || !row.step.empty();
      running.watched = spec.stale_after || cx.state.policy.stale_for_all ||
                        (spoke && spec.stale_counts.progress);
      return running;
    }
    default:
      return Final{row.state, cx.state.workers.find(row.worker), row.started_at, row.percent};
  }
}

void count_final(NodeRun& node, TaskState state) {
  ++node.finals;
  if (state == TaskState::kFailed) ++node.failed;
  if (state == TaskState::kCancelled) ++node.cancelled;
  if (state == TaskState::kSkipped) ++node.skipped;
}

void restore_notes(Task& task, const TaskRow& row) {
  const bool none = row.step.empty() && row.error_message.empty() && row.reused_from.empty();
  if (none && row.exit_code == 0) return;
  TaskNotes& notes = task.notes_for_writing();
  notes.step = row.step;
  notes.error = row.error_message;
  notes.exit_code = row.exit_code;
  notes.reused_from = row.reused_from;
}

void restore_task(Context& cx, RunIx run_ix, const TaskRow& row) {
  Run& run = cx.run(run_ix);
  if (row.id.index >= run.tasks.size() || run.tasks[row.id.index].valid()) return;
  const TaskIx ix = cx.state.tasks.add();
  Task& task = cx.task(ix);
  task.run = run_ix;
  task.node = run.plan->node_of_task(row.id.index);
  task.index = row.id.index;
  task.epoch = row.epoch;
  task.counters = row.counters;
  task.created_at = row.created_at;
  const WorkerIx worker = is_held(row.state) ? cx.state.workers.find(row.worker) : WorkerIx::none();
  const bool orphan =
      is_held(row.state) && (!worker.valid() || cx.worker(worker).incarnation != row.incarnation);
  // That life of the worker is gone: nobody holds it, whatever its own row says.
  task.phase = orphan ? Phase{Queued{}} : phase_from(cx, row, cx.spec_of(task), worker);
  if (orphan) task.epoch = task.epoch.next(), cx.touch(ix);
  restore_notes(task, row);
  run.tasks[row.id.index] = ix;
  NodeRun& node = run.nodes[task.node];
  ++node.created;
  ++run.made[number_of(task.state())];
  if (orphan) cx.count(row.state, TaskState::kQueued), cx.touch(run_ix);
  if (is_final(row.state)) count_final(node, row.state);
  if (orphan) ++task.counters.releases, note_repair(cx, ix, "held by an unknown worker");
  if (!row.level) cx.touch(ix), note_repair(cx, ix, "task had no level");
  const bool wrong = row.level && *row.level != run.plan->nodes[task.node].level;
  if (wrong) cx.touch(ix), note_repair(cx, ix, "task had a wrong level");
}

// A held task joins its worker's list again.
void restore_held(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  const Grant* grant = task.grant();
  if (grant == nullptr) return;
  ++cx.node_of(task).in_play;
  take_slot(cx, ix, grant->worker);
  if (std::holds_alternative<Running>(task.phase)) return watch_running(cx, ix);
  const Judged at = grant->stop != StopReason::kNone ? grant->stop_deadline
                                                     : cx.judged + scheduled_timeout(cx, task);
  cx.state.timers.set({TimerKind::kTask, ix.value}, at);
}

// What is held counts against the limit of a map, so all of it comes before the first queued task.
void restore_places(Context& cx, const Run& run) {
  for (const TaskIx ix : run.tasks) {
    if (ix.valid()) restore_held(cx, ix);
    const auto* queued = ix.valid() ? std::get_if<Queued>(&cx.task(ix).phase) : nullptr;
    if (queued != nullptr && queued->child.value != 0) place_child(cx, ix);
  }
  for (const TaskIx ix : run.tasks) {
    auto* queued = ix.valid() ? std::get_if<Queued>(&cx.task(ix).phase) : nullptr;
    if (queued == nullptr || queued->place == Queued::Place::kChild) continue;
    const WorkerIx last = queued->last_worker;
    queued->keep_away = last.valid() && another_could_take(cx, cx.task(ix), last);
    place_task(cx, ix, Turn::kBehind);
  }
}

// Whether its time has come is decided by the timer alone, so that it is told of once.
void restore_start(Context& cx, RunIx ix, const RunRow& row) {
  if (row.starts_at == kNever || planted(PlantedBug::kStartTimeLost)) return;
  cx.run(ix).starts_at = row.starts_at;
  if (row.ending != RunEnding::kNone) return;
  cx.state.promises.set({TimerKind::kRun, ix.value}, {row.starts_at.us});
}

void restore_signals(Context& cx, Run& run, const RunImage& image) {
  for (const SignalRow& signal : image.signals) {
    if (planted(PlantedBug::kSignalLostAtReload) && !signal.taken_by) continue;
    run.signals.push_back(signal);
    book_reads(cx.state, run, signal.data.size());
  }
}

// A node some task of which has left Waiting was started before. All of these must be known before
// the first end is counted, or what needs it would be started a second time.
void derive_begun(Context& cx, RunIx ix, std::uint32_t index) {
  Run& run = cx.run(ix);
  NodeRun& node = run.nodes[index];
  if (node.created == 0) return;
  const Task& first = cx.task(run.tasks[run.plan->first_task(index)]);
  if (std::holds_alternative<Waiting>(first.phase)) return;
  node.phase = NodePhase::kActive;
  if (node.created < run.plan->tasks_of(index) && !node.stopped) begin_expanding(cx, ix, index);
}

// A map that stopped still has queued items, or one that goes on still has skipped ones.
bool sweep_was_cut_short(Context& cx, const Run& run) {
  for (const TaskIx ix : run.tasks) {
    if (!ix.valid()) continue;
    const Task& task = cx.task(ix);
    if (!cx.spec_of(task).map) continue;
    const auto* queued = std::get_if<Queued>(&task.phase);
    if (queued != nullptr && queued->place == Queued::Place::kChild) continue;
    const auto wrong = run.nodes[task.node].stopped ? TaskState::kQueued : TaskState::kSkipped;
    if (task.state() == wrong) return true;
  }
  return false;
}

// Makes what a crash or an older version left unmade: single tasks exist from the start, unless
// there are very many.
void make_missing(Context& cx, RunIx ix) {
  const DagPlan& plan = *cx.run(ix).plan;
  if (makes_when_ready(cx.state, plan)) return;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    if (plan.node_spec(node).map || cx.run(ix).nodes[node].created > 0) continue;
    note_repair(cx, make_task(cx, ix, node, plan.first_task(node)), "task had no row");
  }
}

void derive_levels(Context& cx, RunIx ix, std::uint32_t passed_before) {
  Run& run = cx.run(ix);
  if (run.levels_passed >= passed_before) return;
  run.levels_known = run.levels_passed;
  cx.touch(ix);
  note_repair(cx, {}, "level was marked done with open tasks", ix);
}

TaskCounts count_there(const RunImage& image) {
  TaskCounts there{};
  for (const TaskRow& task : image.tasks) ++there[number_of(task.state)];
  return there;
}

// The counts follow the rows that are really there, whatever the run's own row says. What is open
// is counted while its run is in memory; what is final was counted when it ended.
void count_run(Context& cx, RunIx ix, const RunImage& image) {
  const TaskCounts there = count_there(image);
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    if (!is_final(static_cast<TaskState>(i))) cx.state.counters.tasks[i] += there[i];
  }
  if (there == image.run.made) return;
  cx.touch(ix);
  cx.touch_counters();
  note_repair(cx, {}, "count of tasks by state was wrong", ix);
}

// The totals of open tasks are made from the runs; those of finished ones are never below them.
void begin_totals(Context& cx, const StoreImage& image) {
  TaskTotals there{};
  for (const RunImage& run : image.runs) {
    const TaskCounts counts = count_there(run);
    for (std::size_t i = 0; i < kTaskStates; ++i) there[i] += counts[i];
  }
  bool wrong = false;
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    std::uint64_t& total = cx.state.counters.tasks[i];
    const bool final = is_final(static_cast<TaskState>(i));
    // A count that wrapped below zero is beyond what could ever have been counted.
    const bool wrapped = total > (std::uint64_t{1} << 62U);
    if (final ? total < there[i] || wrapped : total != there[i]) wrong = true;
    if (!final) total = 0;  // each run adds its own
    if (final && (wrapped || total < there[i])) total = there[i];
  }
  if (!wrong) return;
  cx.touch_counters();
  note_repair(cx, {}, "totals of tasks by state were wrong");
}

void note_child(Context& cx, const RunRow& row) {
  if (!row.request || row.request->parent.value == 0 || row.state != RunState::kRunning) return;
  const RunRequest& request = *row.request;
  cx.children_of[{{request.parent, request.parent_index}, request.parent_epoch}] = row.id;
}

void note_damage(Context& cx, const DamagedRow& row) {
  cx.event(EventKind::kStateDamaged, {},
           {{"table", row.table}, {"row", row.id}, {"column", row.column}, {"what", row.what}},
           Severity::kError);
  if (row.run.value != 0) cx.fx.events.back().run = row.run;
}

// What was repaired stands between a start and an end in the log, as after any other pass.
void frame_repairs(Context& cx, std::uint64_t first_seq) {
  std::vector<Event>& events = cx.fx.events;
  const auto is_fix = [](const Event& e) { return e.kind == EventKind::kStateReconcileFix; };
  const auto fixes = std::count_if(events.begin(), events.end(), is_fix);
  if (fixes == 0) return;
  cx.event(EventKind::kStateReconcileStart, {}, {{"reason", std::string("load")}});
  std::rotate(events.begin(), events.end() - 1, events.end());
  for (Event& event : events) event.seq = first_seq++;
  cx.event(EventKind::kStateReconcileComplete, {}, {{"findings", std::int64_t{fixes}}});
}

}  // namespace

RunIx restore_run(Context& cx, const RunImage& image) {
  cx.restoring = true;
  const RunRow& row = image.run;
  auto plan = laid_out_again(row.plan, row.late);
  VX_ASSERT(plan);  // who loads images sets aside what does not fit
  if (planted(PlantedBug::kLateMapMadeAgain)) plan = unexpanded(row.plan);
  const RunIx ix = open_run(cx.state, row.id, *std::move(plan));
  Run& run = cx.run(ix);
  run.request = row.request;
  book_run(cx.state, run);
  read_params(cx.state, run);
  if (!planted(PlantedBug::kChildOutcomeLost)) adopt_child(cx, ix);
  run.ending = row.ending;
  run.finally_ending = row.finally_ending;
  run.waits_for_turn = row.waits_for_turn;
  run.reason = row.reason;
  restore_start(cx, ix, row);
  restore_group(cx, run);
  run.paused = row.paused;
  run.created_at = row.created_at;
  run.levels_known = row.levels_passed;
  count_run(cx, ix, image);
  for (const TaskRow& task : image.tasks) restore_task(cx, ix, task);
  make_missing(cx, ix);
  for (const TaskDataRow& data : image.data) {
    const bool known = data.id.index < run.tasks.size() && run.tasks[data.id.index].valid();
    if (!known) continue;
    Task& task = cx.task(run.tasks[data.id.index]);
    if (data.checkpoint) task.notes_for_writing().checkpoint = *data.checkpoint;
    if (data.uploaded) task.notes_for_writing().uploaded = *data.uploaded;
    const bool completed = task.state() == TaskState::kCompleted;
    if (data.outputs && completed) read_outputs(cx.state, run, task.node, *data.outputs);
  }
  give_items(cx, ix);
  restore_signals(cx, run, image);
  restore_places(cx, run);
  run.stopped_maps = row.stopped;
  for (const std::uint32_t node : row.stopped) run.nodes[node].stopped = true;
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) derive_begun(cx, ix, node);
  // A finished run that is revived has no limit any more: its time was up long ago.
  if (row.state == RunState::kRunning && row.timeout_at != kNever) {
    run.timeout_at = cx.state.clock.judged(row.timeout_at);
    cx.state.timers.set({TimerKind::kRun, ix.value}, run.timeout_at);
  }
  if (sweep_was_cut_short(cx, run)) begin_sweep(cx, ix);
  for (const auto& level : run.plan->nodes_by_level) {
    for (const std::uint32_t node : level) {
      check_node_ended(cx, ix, node);
      consider_node(cx, ix, node);
      settle_nodes(cx);
    }
  }
  derive_levels(cx, ix, row.levels_passed);
  const bool ending = run.ending != RunEnding::kNone || run.finally_ending != RunEnding::kNone;
  if (ending) begin_sweep(cx, ix);
  cx.restoring = false;
  return ix;
}

State load(const Policy& policy, Term term, Instant now, std::uint64_t seed,
           const StoreImage& image, Effects& repairs) {
  State state(policy, term, now, seed);
  state.counters = image.counters;
  Context cx(state, now);
  if (!planted(PlantedBug::kOutageRuleOff)) state.silence_floor = cx.judged;
  for (const QueueRow& row : image.queues) {
    state.ready[state.ready.queue(row.name)].paused = row.paused;
  }
  for (const WorkerRow& row : image.workers) restore_worker(cx, row);
  restore_machines(cx, image.machines);
  for (const PartitionLeaseRow& row : image.leases) restore_lease(state, row);
  for (const JournalRow& row : image.journals) state.journals[row.supervisor] = row;
  for (const KeyRow& row : image.keys) state.keys[row.key] = {row.run, row.digest};
  for (const DeadLetterRow& row : image.dead_letters) {
    if (row.state == DeadLetterState::kOpen) {
      state.dead_letters[row.attempt.task] = {row.attempt.epoch, row.reason, row.at, row.message};
    }
  }
  for (const LimitRow& row : image.limits) restore_limit(cx, row);
  for (const DamagedRow& row : image.damaged) note_damage(cx, row);
  for (const ScheduleRow& row : image.schedules) restore_schedule(cx, row);
  begin_totals(cx, image);
  for (const RunImage& run : image.runs) note_child(cx, run.run);
  for (const RunImage& run : image.runs) {
    const RunIx ix = restore_run(cx, run);
    if (run.run.state == RunState::kRunning) continue;
    cx.touch(ix);
    note_repair(cx, {}, "run was marked ended with open tasks", ix);
  }
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) refresh_activity(cx, {i});
  repair_held(cx);
  cx.turns_left = 0;  // they are given in the first step
  repair_children(cx, image);
  settle(cx);
  refresh_schedule_timers(cx);
  start_own_timers(cx);
  cx.calling.clear();
  frame_repairs(cx, image.counters.next_event);
  cx.write_rows();
  close_ended_runs(cx);
  repairs = std::move(cx.fx);
  return state;
}

}  // namespace vortex::core
