#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "model/check.h"
#include "model/schedule.h"

namespace vortex::core {

namespace {

std::expected<PlanPtr, DagError> plan_of(const SubmitRun& command, const DagLimits& limits) {
  if (const auto* plan = std::get_if<PlanPtr>(&command.dag)) {
    if (*plan) return *plan;
    return std::unexpected(DagError{DagError::Kind::kEmpty, {}, "no DAG"});
  }
  return compile(std::get<DagSpec>(command.dag), limits);
}

std::uint64_t digest_of(const RunRequest& request, const DagPlan& plan) {
  Hasher hasher;
  hasher.add(plan.digest);
  hasher.add(request.params);
  for (const auto& [key, value] : request.labels) hasher.add(key), hasher.add(value);
  return hasher.value();
}

// The run an earlier request with this key made, or that the key belongs to something else.
bool answer_known_key(Context& cx, const SubmitRun& command, std::uint64_t digest) {
  if (command.idempotency_key.empty() || planted(PlantedBug::kSubmitIgnoresKey)) return false;
  const auto known = cx.state.keys.find(command.idempotency_key);
  if (known == cx.state.keys.end()) return false;
  if (known->second.digest != digest) {
    cx.refuse(command.request, RefusalKind::kKeyReused,
              "the key '" + command.idempotency_key + "' was used for another request");
    return true;
  }
  REACHED("core: repeated submit answered with the run it made before");
  cx.reply(command.request, RunAccepted{known->second.run, true});
  return true;
}

Taken share_of(const DagPlan& plan, std::string_view params) {
  return {1, plan.tasks, plan.bytes + params.size()};
}

// A row may lack what was said besides the DAG.
const RunRequest& request_of(const Run& run) {
  static const RunRequest none;
  return run.request ? *run.request : none;
}

void add_to(Taken& sum, const Taken& one) {
  sum.runs += one.runs;
  sum.tasks += one.tasks;
  sum.bytes += one.bytes;
}

void subtract_from(Taken& sum, const Taken& one) {
  sum.runs -= one.runs;
  sum.tasks -= one.tasks;
  sum.bytes -= one.bytes;
}

void unbook_run(State& state, const Run& run) {
  Taken one = share_of(*run.plan, request_of(run).params);
  one.bytes += run.reads_bytes;
  subtract_from(state.taken, one);
  const auto by = state.taken_by.find(request_of(run).submitted_by);
  VX_ASSERT(by != state.taken_by.end());
  subtract_from(by->second, one);
  if (by->second.runs == 0) state.taken_by.erase(by);
  const std::string& schedule = request_of(run).schedule;
  if (!schedule.empty()) state.schedules.remove_run(schedule, run.id);
}

// What would be too much with one more run; empty: it fits.
std::string over(const Quota& quota, const Taken& taken, const Taken& one) {
  const auto says = [](std::uint64_t has, std::uint64_t more, std::uint64_t most,
                       std::string_view what) {
    if (most == 0 || more == 0 || has + more <= most) return std::string{};
    return std::to_string(has) + " of " + std::to_string(most) + " " + std::string(what) +
           " are in use, and this run needs " + std::to_string(more);
  };
  std::string wrong = says(taken.runs, one.runs, quota.runs, "live runs");
  if (wrong.empty()) wrong = says(taken.tasks, one.tasks, quota.tasks, "tasks of live runs");
  if (wrong.empty()) {
    wrong = says(taken.bytes, one.bytes, quota.bytes, "bytes of definitions and params");
  }
  return wrong;
}

}  // namespace

void book_tasks(State& state, const Run& run, std::uint32_t tasks) {
  state.taken.tasks += tasks;
  state.taken_by[request_of(run).submitted_by].tasks += tasks;
}

std::string over_quota(const State& state, const Run& run, std::uint32_t tasks) {
  const Taken more{0, tasks, 0};
  const auto by = state.taken_by.find(request_of(run).submitted_by);
  const Taken own = by == state.taken_by.end() ? Taken{} : by->second;
  const std::string wrong = over(state.policy.quota_per_token, own, more);
  return wrong.empty() ? over(state.policy.quota, state.taken, more) : wrong;
}

namespace {

void close_run(State& state, RunIx ix) {
  Run const& run = state.runs[ix];
  unbook_run(state, run);
  // The slots are freed in slices (core/machine.h): a run of a million would make this step long.
  state.leftover.insert(state.leftover.end(), run.tasks.begin(), run.tasks.end());
  for (const NodeRun& node : run.nodes) drop_class(state, node.cls);
  if (run.in_bulk) std::erase(state.bulk, ix);
  state.runs.remove(ix);
}

void make_waiting_tasks(Context& cx, RunIx ix) {
  const DagPlan& plan = *cx.run(ix).plan;
  if (makes_when_ready(cx.state, plan)) {
    REACHED("core: tasks of a very large DAG are made when they are ready");
    return;
  }
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    if (!plan.node_spec(node).map) make_task(cx, ix, node, plan.first_task(node));
  }
}

}  // namespace

std::string over_quota(const State& state, const DagPlan& plan, const RunRequest& request) {
  const Taken one = share_of(plan, request.params);
  const auto by = state.taken_by.find(request.submitted_by);
  const Taken own = by == state.taken_by.end() ? Taken{} : by->second;
  std::string wrong = over(state.policy.quota_per_token, own, one);
  if (!wrong.empty()) {
    return wrong + (request.submitted_by.empty()
                        ? " (quota of callers without a token)"
                        : " (quota of token '" + request.submitted_by + "')");
  }
  wrong = over(state.policy.quota, state.taken, one);
  return wrong.empty() ? wrong : wrong + " (quota of the whole controller)";
}

RunIx open_run(State& state, RunId id, PlanPtr plan) {
  const RunIx ix = state.runs.add(id);
  Run& run = state.runs[ix];
  run.plan = std::move(plan);
  run.nodes.resize(run.plan->nodes.size());
  run.tasks.resize(run.plan->tasks);
  run.reads.resize(run.plan->reads.size());
  run.passed.resize(run.plan->base->passes.size());
  run.lists.resize(run.plan->lists.size());
  run.level_open.resize(run.plan->levels, 0);
  run.nodes_open = static_cast<std::uint32_t>(run.nodes.size());
  run.ordinary_open = run.nodes_open - static_cast<std::uint32_t>(run.plan->finally.size());
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    run.nodes[node].cls = use_class(state, run.plan->node_spec(node));
    ++run.level_open[run.plan->nodes[node].level];
  }
  return ix;
}

void book_run(State& state, const Run& run) {
  const Taken one = share_of(*run.plan, request_of(run).params);
  add_to(state.taken, one);
  add_to(state.taken_by[request_of(run).submitted_by], one);
  const std::string& schedule = request_of(run).schedule;
  if (!schedule.empty()) state.schedules.add_run(schedule, run.id);
}

void book_reads(State& state, Run& run, std::uint64_t bytes) {
  run.reads_bytes += bytes;
  state.taken.bytes += bytes;
  state.taken_by[request_of(run).submitted_by].bytes += bytes;
}

void close_ended_runs(Context& cx) {
  for (const RunIx ix : cx.runs_closed) close_run(cx.state, ix);
  cx.runs_closed.clear();
}

void on_submit(Context& cx, const SubmitRun& command) {
  if (command.idempotency_key.size() > kIdempotencyKeyBytesMax) {
    return cx.refuse(
        command.request, RefusalKind::kMalformed,
        "the idempotency key has more than " + std::to_string(kIdempotencyKeyBytesMax) + " bytes");
  }
  if (command.params.size() > kParamsBytesMax) {
    return cx.refuse(command.request, RefusalKind::kMalformed,
                     "the params have more than " + std::to_string(kParamsBytesMax) + " bytes");
  }
  if (command.kept && command.starts_at != kNever) {
    return cx.refuse(command.request, RefusalKind::kMalformed,
                     "a run that starts later cannot keep results of an earlier one");
  }
  const auto plan = plan_of(command, cx.state.policy.dag_limits);
  if (!plan) {
    return cx.reply(command.request,
                    Refusal{RefusalKind::kDagInvalid, plan.error().detail, plan.error(), {}});
  }
  if (!(*plan)->base->missing.empty()) {
    const std::string& name = (*plan)->base->missing.front();
    return cx.refuse(command.request, RefusalKind::kDagInvalid,
                     "the sub-DAG " + in_quotes(name) + " is not known");
  }
  RunRequest request{command.labels, command.params, command.idempotency_key, 0,
                     command.submitted_by};
  request.slot = command.slot;
  request.slot_end = command.slot_end;
  if (command.kept) request.rerun_of = command.kept->run;
  request.digest = digest_of(request, **plan);
  if (answer_known_key(cx, command, request.digest)) return;
  if (std::string wrong = over_quota(cx.state, **plan, request); !wrong.empty()) {
    REACHED("core: submit refused because a quota is used up");
    return cx.refuse(command.request, RefusalKind::kOverQuota, std::move(wrong));
  }
  if (std::string wrong = set_group(request, **plan); !wrong.empty()) {
    REACHED("core: submit refused because its group has no key");
    return cx.refuse(command.request, RefusalKind::kMalformed, std::move(wrong));
  }
  // What is kept is known to this step alone.
  if (command.kept && !command.kept->nodes.empty()) {
    if (const std::string full = why_group_is_full(cx.state, **plan, request); !full.empty()) {
      return cx.refuse(command.request, RefusalKind::kWrongState,
                       "a run that keeps results has to begin at once; " + full);
    }
  }
  const RunId id = make_run(cx, *plan, std::move(request), {command.starts_at, command.kept.get()});
  cx.reply(command.request, RunAccepted{id, false});
}

namespace {

// Of a child also the time limit of the task that it is an attempt of.
std::optional<Duration> time_limit(Context& cx, const Run& run) {
  const std::optional<Duration> own = run.plan->spec.run_timeout;
  const TaskIx ix = find_task(cx.state, {run.request->parent, run.request->parent_index});
  if (run.request->parent.value == 0 || !ix.valid()) return own;
  const std::optional<Duration> above = cx.spec_of(cx.task(ix)).execution_timeout;
  if (!own || !above) return own ? own : above;
  return std::min(*own, *above);
}

// What the bug does: nobody looks at what the nodes need.
void keep_at_once(Context& cx, RunIx ix) {
  for (const KeptNode& kept : cx.kept->nodes) {
    NodeRun& node = cx.run(ix).nodes[kept.node];
    if (node.phase != NodePhase::kPending || kept_for(cx, ix, kept.node) == nullptr) continue;
    node.phase = NodePhase::kActive;
    keep_node(cx, ix, kept.node, kept);
  }
}

}  // namespace

// From here on its time counts, and what needs nothing may run.
void begin_run(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) consider_node(cx, ix, node);
  if (const auto limit = time_limit(cx, run)) {
    run.timeout_at = cx.judged + *limit;
    cx.state.timers.set({TimerKind::kRun, ix.value}, run.timeout_at);
  }
}

RunId make_run(Context& cx, PlanPtr plan, RunRequest request, const RunStart& start) {
  const RunId id = cx.state.counters.next_run;
  cx.state.counters.next_run = id.next();
  cx.touch_counters();
  const RunIx ix = open_run(cx.state, id, std::move(plan));
  Run& run = cx.run(ix);
  run.created_at = cx.now;
  request.digest = digest_of(request, *run.plan);
  run.request = std::make_shared<const RunRequest>(std::move(request));
  book_run(cx.state, run);
  read_params(cx.state, run);
  adopt_child(cx, ix);
  const std::string& key = run.request->idempotency_key;
  if (!key.empty()) cx.state.keys[key] = {id, run.request->digest};
  cx.touch(ix);
  cx.event(EventKind::kRunSubmitted, {.worker = {}, .task = {}, .run = ix},
           {{"dag", run.plan->spec.name}, {"tasks", std::int64_t{run.plan->tasks}}});
  if (run.request->parent.value != 0) {
    cx.fx.events.back().data.emplace_back("parent", to_text(run.request->parent));
  }
  make_waiting_tasks(cx, ix);
  if (start.kept != nullptr) {
    cx.kept = start.kept;
    cx.keeping = ix;
    if (planted(PlantedBug::kKeptBehindRerun)) keep_at_once(cx, ix);
  }
  if (start.at != kNever && start.at > cx.now && !planted(PlantedBug::kRunStartsEarly)) {
    REACHED("core: run waits for its time");
    run.starts_at = start.at;
    cx.state.promises.set({TimerKind::kRun, ix.value}, {start.at.us});
    return id;
  }
  begin_or_wait(cx, ix);
  return id;
}

void on_run_start(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  const Instant due = run.starts_at;
  run.starts_at = kNever;
  cx.touch(ix);
  cx.event(EventKind::kRunStarted, {.worker = {}, .task = {}, .run = ix},
           {{"due", slot_text(due)}});
  begin_or_wait(cx, ix);
}

void on_forget_run(Context& cx, const ForgetRun& command) {
  if (cx.state.runs.find(command.run).valid()) return;  // an operator revived it
  const auto known = cx.state.keys.find(command.idempotency_key);
  // Another run may have it by now: the answer that named this one can be late.
  if (known != cx.state.keys.end() && known->second.run == command.run) cx.state.keys.erase(known);
  auto& letters = cx.state.dead_letters;
  letters.erase(letters.lower_bound({command.run, 0}),
                letters.lower_bound({command.run.next(), 0}));
}

}  // namespace vortex::core
