#include "model/passing/children.h"

#include <algorithm>
#include <expected>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/reconcile.h"
#include "model/check.h"
#include "model/passing/evaluate.h"
#include "model/schedule.h"

namespace vortex::core {
namespace {

constexpr std::size_t kPassedBytesMax = 256 * 1024;  // of one value

bool is_child(const Run& run) { return run.request && run.request->parent.value != 0; }

Queued* waits_for_child(Context& cx, TaskIx ix) {
  auto* queued = std::get_if<Queued>(&cx.task(ix).phase);
  return queued != nullptr && queued->place == Queued::Place::kChild ? queued : nullptr;
}

// The task that this child is an attempt of, if it waits for it.
TaskIx waiting_for(Context& cx, const Run& child) {
  const TaskIx ix = find_task(cx.state, {child.request->parent, child.request->parent_index});
  if (!ix.valid()) return TaskIx::none();
  const Queued* queued = waits_for_child(cx, ix);
  return queued != nullptr && queued->child == child.id ? ix : TaskIx::none();
}

// ---- Values ----

Value at_path(std::string_view text, const Steps& steps) {
  const Steps* path = &steps;
  auto values = pick_values(text, {&path, 1}, kPassedBytesMax);
  return values ? std::move(values->front()) : Value{};
}

Found item_found(const Run& run, const Task& task, const Path& path) {
  std::string item = run.plan->map_item(task.index);
  if (path.steps.empty()) return {{Value::Kind::kText, std::move(item)}};
  return {at_path(item, path.steps), "the item has no such part"};
}

Found slot_found(Instant slot, std::string_view why) {
  if (slot == kNever) return {{}, std::string(why)};
  return {{Value::Kind::kText, slot_text(slot)}};
}

Found passed_found(const Run& run, const Path& path) {
  const Value& value = run.passed[path.slot];
  if (value.kind != Value::Kind::kMissing) return {value};
  return {{}, why_unknown(run, run.plan->base->passes[path.slot])};
}

// Of the run, for its outputs, when there is no task.
Found find_value(Context& cx, const Run& run, const Task* task, const Path& path) {
  const auto text = [](std::string what) { return Found{{Value::Kind::kText, std::move(what)}}; };
  const auto number = [](std::uint32_t what) {
    return Found{{Value::Kind::kNumber, std::to_string(what)}};
  };
  const bool in_map = task != nullptr && cx.spec_of(*task).map;
  switch (path.root) {
    case PathRoot::kParam:
    case PathRoot::kOutputs:
      return passed_found(run, path);
    case PathRoot::kItem:
      if (in_map) return item_found(run, *task, path);
      break;
    case PathRoot::kIndex:
      if (in_map) return number(run.plan->position_of(task->index));
      break;
    case PathRoot::kRunId:
      return text(to_text(run.id));
    case PathRoot::kRunSlot:
      return slot_found(run.request->slot, "the run was not started for a slot of a schedule");
    case PathRoot::kRunSlotEnd:
      return slot_found(run.request->slot_end, "no slot comes after that of the run");
    case PathRoot::kDagName:
      return text(run.plan->spec.name);
    case PathRoot::kTaskName:
      if (task != nullptr) return text(cx.spec_of(*task).name);
      break;
    case PathRoot::kAttempt:
      if (task != nullptr) return number(task->counters.attempts);
      break;
    case PathRoot::kRunResult:
      return text(std::string(to_text(result_of(run))));
  }
  return {{}, "there is no such value here"};
}

std::expected<std::string, std::string> params_for(Context& cx, const Task& task) {
  const Run& run = cx.run_of(task);
  const NodeChild& child = *run.plan->nodes[task.node].child;
  NamedValues values;
  for (const ChildParam& param : child.params) {
    if (!param.text) {
      values.emplace_back(param.name, param.value);
      continue;
    }
    auto value = render_typed(*param.text,
                              [&](const Path& path) { return find_value(cx, run, &task, path); });
    if (!value) {
      return std::unexpected("cannot resolve params." + param.name + ": " + value.error());
    }
    values.emplace_back(param.name, *std::move(value));
  }
  auto params = params_of(child.plan->spec, values);
  if (params && params->size() > kParamsBytesMax) {
    return std::unexpected("the params of the sub-DAG have more than " +
                           std::to_string(kParamsBytesMax) + " bytes");
  }
  return params;
}

// What the run gives the task that it is a child of; empty: its DAG declares nothing.
std::expected<std::string, std::string> outputs_for(Context& cx, const Run& run) {
  NamedValues values;
  for (const RunOutput& output : run.plan->base->results) {
    auto value = render_typed(output.text,
                              [&](const Path& path) { return find_value(cx, run, nullptr, path); });
    if (!value) {
      return std::unexpected("cannot resolve output " + in_quotes(output.name) + " of " +
                             to_text(run.id) + ": " + value.error());
    }
    values.emplace_back(output.name, *std::move(value));
  }
  return values.empty() ? std::string() : object_of(values);
}

// ---- Beginning ----

AttemptEnd not_started(Verdict verdict, std::string why) {
  AttemptEnd end;
  end.verdict = verdict;
  end.blame = Blame::kFailure;
  end.message = std::move(why);
  return end;
}

std::string task_name(Context& cx, const Task& task) {
  const NodeSpec& spec = cx.spec_of(task);
  if (!spec.map) return spec.name;
  return spec.name + "[" + std::to_string(cx.run_of(task).plan->position_of(task.index)) + "]";
}

RunRequest request_for(Context& cx, const Task& task, std::string params) {
  const Run& run = cx.run_of(task);
  RunRequest request;
  if (run.request) {
    request.labels = run.request->labels;
    request.submitted_by = run.request->submitted_by;
    request.slot = run.request->slot;
    request.slot_end = run.request->slot_end;
  }
  request.params = std::move(params);
  request.parent = run.id;
  request.parent_index = task.index;
  request.parent_epoch = task.epoch;
  request.parent_task = task_name(cx, task);
  return request;
}

void start_child(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  Queued* queued = waits_for_child(cx, ix);
  if (queued == nullptr || queued->child.value != 0) return;  // cancelled in this very step
  if (ending_of(cx.run_of(task), task.node) != RunEnding::kNone) return cancel_task(cx, ix);
  if (cx.node_of(task).stopped) {  // by the very end that made room for it
    unplace_task(cx, ix);
    return finish_task(cx, ix, TaskEvent::kSkipped, TaskState::kSkipped);
  }
  const PlanPtr plan = cx.run_of(task).plan->nodes[task.node].child->plan;
  VX_ASSERT(plan);  // a DAG with one that is missing is not accepted
  ++task.counters.attempts;
  cx.touch(ix);
  auto params = params_for(cx, task);
  if (!params) {
    REACHED("core: params of a sub-DAG could not be resolved");
    return end_child_attempt(cx, ix, not_started(Verdict::kCouldNotStart, params.error()));
  }
  RunRequest request = request_for(cx, task, *std::move(params));
  if (const std::string wrong = over_quota(cx.state, *plan, request); !wrong.empty()) {
    REACHED("core: sub-DAG not started because a quota is used up");
    return end_child_attempt(
        cx, ix,
        not_started(Verdict::kChildFailed,
                    "cannot start a run of sub-DAG " + in_quotes(plan->spec.name) + ": " + wrong));
  }
  if (std::string wrong = set_group(request, *plan); !wrong.empty()) {
    return end_child_attempt(cx, ix, not_started(Verdict::kCouldNotStart, std::move(wrong)));
  }
  const RunId child = make_run(cx, plan, std::move(request));
  std::get<Queued>(task.phase).child = child;
  cx.event(EventKind::kChildStarted, {.worker = {}, .task = ix, .run = {}},
           {{"child", to_text(child)},
            {"dag", plan->spec.name},
            {"attempts", std::int64_t{task.counters.attempts}}});
}

// ---- Ending ----

AttemptEnd failed_end(const Run& child) {
  AttemptEnd end;
  const std::string who =
      "child run " + to_text(child.id) + " (" + in_quotes(child.plan->spec.name) + ")";
  if (child.ending == RunEnding::kTimedOut) {
    end.verdict = Verdict::kExecutionTimeout;
    end.blame = Blame::kStall;
    end.message = who + " timed out";
    return end;
  }
  end.verdict = Verdict::kChildFailed;
  end.blame = Blame::kFailure;
  end.message = who + (child.state == RunState::kCancelled ? " was cancelled" : " failed");
  return end;
}

void complete_child(Context& cx, TaskIx ix, const std::string& outputs) {
  Task& task = cx.task(ix);
  unplace_task(cx, ix);
  if (!outputs.empty()) {
    cx.fx.rows.task_data.push_back({.id = cx.id_of(task), .epoch = task.epoch, .outputs = outputs});
    read_outputs(cx.state, cx.run_of(task), task.node, outputs);
  }
  if (task.notes) task.notes->error.clear();
  cx.event(EventKind::kTaskComplete, {.worker = {}, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}}});
  finish_task(cx, ix, TaskEvent::kWaited, TaskState::kCompleted);
}

void end_unwanted(Context& cx, TaskIx ix) {
  unplace_task(cx, ix);
  cx.event(EventKind::kTaskCancelled, {.worker = {}, .task = ix, .run = {}});
  finish_task(cx, ix, TaskEvent::kCancelled, TaskState::kCancelled);
}

}  // namespace

std::uint32_t parallel_max(const NodeSpec& spec) {
  if (!spec.map) return 0;
  if (!spec.child || spec.map->max_parallel > 0) return spec.map->max_parallel;
  return kChildrenMax;
}

void place_child(Context& cx, TaskIx ix) {
  Task const& task = cx.task(ix);
  Queued& queued = std::get<Queued>(cx.task(ix).phase);
  queued.place = Queued::Place::kChild;
  queued.waiting_since = cx.judged;
  ++cx.node_of(task).in_play;
  ++cx.run_of(task).changes;
  if (queued.child.value == 0) cx.starting.push_back(ix);
}

void start_children(Context& cx) {
  if (cx.restoring) return;
  // Grows while it is walked: a child may begin with a sub-DAG of its own.
  for (std::size_t i = 0; i < cx.starting.size(); ++i) start_child(cx, cx.starting[i]);
  cx.starting.clear();
}

void adopt_child(Context& cx, RunIx ix) {
  Run& child = cx.run(ix);
  if (!is_child(child)) return;
  const TaskIx task_ix = find_task(cx.state, {child.request->parent, child.request->parent_index});
  if (!task_ix.valid()) return;
  const Task& task = cx.task(task_ix);
  Run& run = cx.run_of(task);
  run.children.insert(child.id);
  child.paused_above = is_paused(run) && run.ending == RunEnding::kNone;
  child.priority = cx.priority_of(task);
}

bool stop_child_of(Context& cx, TaskIx ix) {
  Queued* queued = waits_for_child(cx, ix);
  if (queued == nullptr || planted(PlantedBug::kCancelNotPassedDown)) return false;
  const RunIx child = cx.state.runs.find(queued->child);
  if (!child.valid()) return false;
  if (queued->stop != StopReason::kCancel) {
    queued->stop = StopReason::kCancel;
    cx.touch(ix);
  }
  const Task& task = cx.task(ix);
  const bool timed_out = ending_of(cx.run_of(task), task.node) == RunEnding::kTimedOut;
  cancel_run(cx, child, timed_out ? RunEnding::kTimedOut : RunEnding::kCancelled);
  return true;
}

void pass_down(Context& cx, RunIx ix) {
  const Run& run = cx.run(ix);
  if (planted(PlantedBug::kCancelNotPassedDown)) return;
  for (const RunId id : run.children) {
    const RunIx child_ix = cx.state.runs.find(id);
    Run& child = cx.run(child_ix);
    const bool above = is_paused(run) && run.ending == RunEnding::kNone;
    if (child.paused_above != above) {
      REACHED("core: pause or resume passed down to a child");
      child.paused_above = above;
      begin_sweep(cx, child_ix);
      pass_down(cx, child_ix);
    }
    const TaskIx task = waiting_for(cx, child);
    if (!task.valid()) continue;
    if (ending_of(run, cx.task(task).node) != RunEnding::kNone) stop_child_of(cx, task);
  }
}

void on_child_ended(Context& cx, const Run& child) {
  const RunIx parent = cx.state.runs.find(child.request->parent);
  if (!parent.valid()) return;
  const bool known = cx.run(parent).children.erase(child.id) > 0;
  if (!known && planted(PlantedBug::kChildOutcomeLost)) return;
  const TaskIx ix = waiting_for(cx, child);
  if (!ix.valid()) return;
  const Task& task = cx.task(ix);
  cx.event(EventKind::kChildEnded, {.worker = {}, .task = ix, .run = {}},
           {{"child", to_text(child.id)}, {"state", std::string(to_text(child.state))}});
  const bool unwanted = std::get<Queued>(task.phase).stop != StopReason::kNone ||
                        ending_of(cx.run_of(task), task.node) != RunEnding::kNone;
  if (unwanted) return end_unwanted(cx, ix);
  if (child.state != RunState::kCompleted) {
    REACHED("core: child run failed");
    return end_child_attempt(cx, ix, failed_end(child));
  }
  const auto outputs = outputs_for(cx, child);
  if (outputs) return complete_child(cx, ix, *outputs);
  end_child_attempt(cx, ix, not_started(Verdict::kChildFailed, outputs.error()));
}

void read_passed(State& state, Run& run, ReadSpan span, std::string_view values) {
  if (span.count == 0 || values.empty()) return;
  std::vector<const Steps*> paths;
  paths.reserve(span.count);
  for (std::uint32_t i = 0; i < span.count; ++i) {
    paths.push_back(&run.plan->base->passes[span.first + i].steps);
  }
  auto picked = pick_values(values, paths, kPassedBytesMax);
  if (!picked) return;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < span.count; ++i) {
    Value& value = run.passed[span.first + i];
    value = std::move((*picked)[i]);
    bytes += value.text.size();
  }
  book_reads(state, run, bytes);
}

void repair_children(Context& cx, const StoreImage& image) {
  const auto is_damaged = [&](RunId id) {
    return std::ranges::any_of(image.damaged,
                               [id](const DamagedRow& row) { return row.run == id; });
  };
  for (std::size_t slot = 0; slot < cx.state.runs.slots(); ++slot) {
    const Run* run = cx.state.runs.at_slot(slot);
    if (run == nullptr || !is_child(*run) || run->state != RunState::kRunning) continue;
    if (waiting_for(cx, *run).valid() || is_damaged(run->request->parent)) continue;
    const RunIx ix = cx.state.runs.find(run->id);
    if (run->ending != RunEnding::kNone) continue;
    note_repair(cx, {}, "child run that no task waits for was cancelled", ix);
    cancel_run(cx, ix);
  }
}

}  // namespace vortex::core
