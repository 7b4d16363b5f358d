#include "core/context.h"

#include <utility>

namespace vortex::core {

namespace {
constexpr std::size_t kEventsAtOnce = 8;  // room for those of most steps: moving them costs
}  // namespace

void Context::touch(TaskIx ix) {
  Task& t = task(ix);
  if (t.dirty) return;
  t.dirty = true;
  tasks_.push_back(ix);
}

void Context::touch(RunIx ix) {
  Run& r = run(ix);
  if (r.dirty) return;
  r.dirty = true;
  runs_.push_back(ix);
}

void Context::touch(WorkerIx ix) {
  Worker& w = worker(ix);
  if (w.dirty) return;
  w.dirty = true;
  workers_.push_back(ix);
}

void Context::touch(ScheduleIx ix) {
  Schedule& s = schedule(ix);
  if (s.dirty) return;
  s.dirty = true;
  schedules_.push_back(ix);
}

void Context::touch(LimitIx ix) {
  Limit& limit = state.limits[ix];
  if (limit.dirty) return;
  limit.dirty = true;
  limits_.push_back(ix);
}

void Context::touch(const MachineId& id) {
  Machine& m = state.machines[id];
  if (m.dirty) return;
  m.dirty = true;
  machines_.push_back(id);
}

void Context::forget_row(WorkerIx ix) {
  worker(ix).dirty = false;
  std::erase(workers_, ix);
}

void Context::forget_row(const MachineId& id) { std::erase(machines_, id); }

void Context::event(EventKind kind, About about, std::initializer_list<EventField> data,
                    Severity severity) {
  if (fx.events.empty()) fx.events.reserve(kEventsAtOnce);
  Event& e = fx.events.emplace_back();
  e.seq = state.counters.next_event++;
  touch_counters();
  e.at = now;
  e.kind = kind;
  e.severity = severity;
  if (about.worker.valid()) e.worker = worker(about.worker).info->id;
  if (about.task.valid()) {
    const Task& t = task(about.task);
    e.task = id_of(t);
    e.task_name = spec_of(t).name;
    e.run = e.task->run;
  }
  if (about.run.valid()) e.run = run(about.run).id;
  e.data = data;
}

void Context::event_of(WorkerId worker, EventKind kind, std::vector<EventField> data,
                       Severity severity) {
  event(kind, {}, {}, severity);
  fx.events.back().worker = std::move(worker);
  fx.events.back().data = std::move(data);
}

void Context::reply(RequestId request, ReplyBody body) {
  if (request.value != 0) fx.replies.emplace_back(request, std::move(body));
}

void Context::refuse(RequestId request, RefusalKind kind, std::string detail) {
  reply(request, Refusal{kind, std::move(detail), std::nullopt, std::nullopt});
}

void Context::count(std::optional<TaskState> from, TaskState to) {
  if (from) --state.counters.tasks[number_of(*from)];
  ++state.counters.tasks[number_of(to)];
  touch_counters();
}

void Context::write_task(TaskIx ix) {
  Task& t = task(ix);
  t.dirty = false;
  TaskRow& row = fx.rows.tasks.emplace_back();
  row.id = id_of(t);
  row.node = t.node;
  row.level = row.id.level;
  row.state = t.state();
  row.epoch = t.epoch;
  row.counters = t.counters;
  row.created_at = t.created_at;
  row.updated_at = now;
  if (const Grant* grant = t.grant()) {
    row.worker = worker(grant->worker).info->id;
    row.incarnation = worker(grant->worker).incarnation;
    row.stop = grant->stop;
    row.granted_at = grant->granted_at;
  }
  if (const auto* running = std::get_if<Running>(&t.phase)) {
    row.started_at = running->started;
    row.percent = running->percent;
  }
  if (const auto* queued = std::get_if<Queued>(&t.phase)) {
    row.ready_at = spec_of(t).wait ? queued->due : state.clock.term_time(queued->ready_at);
    row.recovery = queued->recovery;
    row.stop = queued->stop;
    if (queued->last_worker.valid()) row.previous_worker = worker(queued->last_worker).info->id;
  }
  if (const auto* end = std::get_if<Final>(&t.phase)) {
    if (end->worker.valid()) row.worker = worker(end->worker).info->id;
    row.started_at = end->started;
    row.percent = end->outcome == TaskState::kCompleted ? std::uint8_t{100} : end->percent;
  }
  if (t.notes) {
    row.step = t.notes->step;
    row.exit_code = t.notes->exit_code;
    row.error_message = t.notes->error;
    row.reused_from = t.notes->reused_from;
  }
}

void Context::write_run(RunIx ix) {
  Run& r = run(ix);
  r.dirty = false;
  RunRow& row = fx.rows.runs.emplace_back();
  row.id = r.id;
  row.plan = r.plan;
  row.request = r.request;
  row.state = r.state;
  row.ending = r.ending;
  row.paused = r.paused;
  row.created_at = r.created_at;
  row.finished_at = r.state == RunState::kRunning ? kNever : now;
  row.levels_passed = r.levels_passed;
  row.timeout_at = r.timeout_at == kJudgedNever ? kNever : state.clock.term_time(r.timeout_at);
  row.stopped = r.stopped_maps;
  row.made = r.made;
  row.late = late_counts(*r.plan);
  row.finally_ending = r.finally_ending;
  row.waits_for_turn = r.waits_for_turn;
  row.reason = r.reason;
  row.starts_at = r.starts_at;
}

void Context::write_worker(WorkerIx ix) {
  Worker& w = worker(ix);
  w.dirty = false;
  w.heartbeat_written = w.last_heartbeat;
  w.suspect = !w.is_trusted();
  fx.rows.workers.push_back(static_cast<const WorkerRow&>(w));
}

void Context::write_rows() {
  for (const RunIx ix : runs_) write_run(ix);
  fx.rows.tasks.reserve(tasks_.size());
  for (const TaskIx ix : tasks_) write_task(ix);
  for (const WorkerIx ix : workers_) write_worker(ix);
  for (const ScheduleIx ix : schedules_) {
    schedule(ix).dirty = false;
    fx.rows.schedules.push_back(static_cast<const ScheduleRow&>(schedule(ix)));
  }
  for (const LimitIx ix : limits_) {
    // One that was deleted in this step has said so already.
    Limit& limit = state.limits[ix];
    limit.dirty = false;
    if (limit.is_set) fx.rows.limits.push_back(static_cast<const LimitRow&>(limit));
  }
  for (const MachineId& id : machines_) {
    Machine& m = state.machines[id];
    m.dirty = false;
    fx.rows.machines.push_back({id, m.online, m.since});
  }
  if (counters_dirty_) fx.rows.counters = state.counters;
}

}  // namespace vortex::core
