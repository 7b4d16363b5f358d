#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "base/reached.h"
#include "core/explain.h"
#include "core/machine.h"
#include "core/obstacles.h"
#include "model/check.h"

namespace vortex::core {
namespace {

TimerKey limit_timer(LimitIx ix) { return {TimerKind::kLimit, ix.value}; }

bool slots_are_full(const Limit& limit) { return limit.slots > 0 && limit.held >= limit.slots; }

bool rate_is_used_up(const Limit& limit, Instant now) {
  return limit.rate > 0 && granted_lately(limit, now) >= limit.rate;
}

bool is_limit_full(const Limit& limit, Instant now) {
  if (planted(PlantedBug::kLimitIgnored) && limit.is_set) return false;
  return !limit.is_set || slots_are_full(limit) || rate_is_used_up(limit, now);
}

void block_classes(State& state, const Limit& limit) {
  for (const ClassIx cls : limit.classes) {
    const auto& limits = state.ready[cls].limits;
    const bool blocked =
        std::ranges::any_of(limits, [&](LimitIx one) { return state.limits[one].is_full; });
    state.ready.set_blocked(state.tasks, cls, blocked);
  }
}

void note_change(Context& cx, const char* what, const std::string& name, const std::string& by) {
  cx.event(EventKind::kLimitChanged, {},
           {{"limit", name}, {"what", std::string(what)}, {"by", by}});
}

std::string name_complaint(const std::string& name) {
  return complain_of_name("the name of the limit", name).value_or("");
}

}  // namespace

void refresh_limit(Context& cx, LimitIx ix) {
  Limit& limit = cx.state.limits[ix];
  const bool full = is_limit_full(limit, cx.now);
  if (limit.is_set && rate_is_used_up(limit, cx.now)) {
    cx.state.timers.set(limit_timer(ix), cx.state.clock.judged(next_leaves(limit, cx.now)));
  } else {
    cx.state.timers.clear(limit_timer(ix));
  }
  if (full == limit.is_full) return;
  limit.is_full = full;
  block_classes(cx.state, limit);
}

void refresh_limits(Context& cx) {
  for (const auto& [name, ix] : cx.state.limits.by_name()) refresh_limit(cx, ix);
}

void hold_limits(Context& cx, ClassIx cls) {
  for (const LimitIx ix : cx.state.ready[cls].limits) {
    if (planted(PlantedBug::kLimitForgottenAtReload) && cx.restoring) continue;
    ++cx.state.limits[ix].held;
    refresh_limit(cx, ix);
  }
}

void free_limits(Context& cx, ClassIx cls) {
  for (const LimitIx ix : cx.state.ready[cls].limits) {
    Limit& limit = cx.state.limits[ix];
    if (planted(PlantedBug::kLimitForgottenAtReload) && limit.held == 0) continue;
    if (planted(PlantedBug::kLimitSlotLeaked) && cx.reclaiming) continue;
    --limit.held;
    refresh_limit(cx, ix);
  }
}

void count_grant(Context& cx, ClassIx cls) {
  for (const LimitIx ix : cx.state.ready[cls].limits) {
    Limit& limit = cx.state.limits[ix];
    if (limit.rate == 0) continue;
    add_grant(limit, cx.now);
    cx.touch(ix);
    refresh_limit(cx, ix);
  }
}

ClassIx use_class(State& state, const NodeSpec& spec) {
  std::vector<LimitIx> limits;
  limits.reserve(spec.limits.size());
  for (const std::string& name : spec.limits) limits.push_back(state.limits.use(name));
  const ClassIx cls = state.ready.use_class(spec.requirements, limits);
  if (limits.empty() || state.ready[cls].users > 1) return cls;
  bool blocked = false;
  for (const LimitIx ix : limits) {
    state.limits[ix].classes.push_back(cls);
    blocked = blocked || state.limits[ix].is_full;
  }
  state.ready.set_blocked(state.tasks, cls, blocked);
  return cls;
}

void drop_class(State& state, ClassIx cls) {
  const std::vector<LimitIx> limits = state.ready[cls].limits;
  const bool gone = state.ready[cls].users == 1;
  state.ready.drop_class(cls);
  if (!gone) return;
  for (const LimitIx ix : limits) {
    std::erase(state.limits[ix].classes, cls);
    state.limits.forget_unused(ix);
  }
}

void on_set_limit(Context& cx, const SetLimit& command) {
  std::string wrong = name_complaint(command.name);
  const bool has_rate = command.rate > 0;
  if (wrong.empty() && command.slots == 0 && !has_rate) {
    wrong = "a limit needs slots, a rate or both";
  }
  if (wrong.empty() && has_rate &&
      (command.window < kRateWindowMin || command.window > kRateWindowMax)) {
    wrong = "the window of a rate must be between " + short_text(kRateWindowMin) + " and " +
            short_text(kRateWindowMax);
  }
  if (!wrong.empty()) return cx.refuse(command.request, RefusalKind::kMalformed, std::move(wrong));
  if (!cx.state.limits.find(command.name).valid() &&
      cx.state.limits.by_name().size() >= kLimitsMax) {
    return cx.refuse(command.request, RefusalKind::kMalformed,
                     "there are " + std::to_string(kLimitsMax) + " limits, which is the most");
  }
  const LimitIx ix = cx.state.limits.use(command.name);
  Limit& limit = cx.state.limits[ix];
  const std::optional<Duration> window = has_rate ? std::optional(command.window) : std::nullopt;
  if (limit.window != window) {
    // Slices of another length: all that was granted lately counts as if it had been just now.
    const std::uint64_t lately = granted_lately(limit, cx.now);
    limit.window = window;
    limit.rate = command.rate;
    limit.newest = kNever;
    limit.granted.clear();
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(lately, command.rate); ++i) {
      add_grant(limit, cx.now);
    }
  }
  limit.is_set = true;
  limit.slots = command.slots;
  limit.rate = command.rate;
  limit.set_at = cx.now;
  limit.set_by = command.set_by;
  cx.touch(ix);
  note_change(cx, "set", command.name, command.set_by);
  refresh_limit(cx, ix);
  cx.reply(command.request, Done{});
}

void on_delete_limit(Context& cx, const DeleteLimit& command) {
  const LimitIx ix = cx.state.limits.find(command.name);
  if (!ix.valid() || !cx.state.limits[ix].is_set) {
    return cx.refuse(command.request, RefusalKind::kUnknownLimit, command.name);
  }
  Limit& limit = cx.state.limits[ix];
  const std::uint32_t held = limit.held;
  LimitRow gone;
  gone.name = command.name;
  gone.removed = true;
  cx.fx.rows.limits.push_back(std::move(gone));
  static_cast<LimitRow&>(limit) = LimitRow{};
  limit.name = command.name;
  limit.is_set = false;
  limit.held = held;
  refresh_limit(cx, ix);
  note_change(cx, "deleted", command.name, command.deleted_by);
  cx.state.limits.forget_unused(ix);
  cx.reply(command.request, Done{});
}

void on_limit_timer(Context& cx, LimitIx ix) { refresh_limit(cx, ix); }

void restore_limit(Context& cx, const LimitRow& row) {
  const LimitIx ix = cx.state.limits.use(row.name);
  Limit& limit = cx.state.limits[ix];
  static_cast<LimitRow&>(limit) = row;
  limit.is_set = true;
  if (planted(PlantedBug::kRateCountedAnew)) limit.granted.clear(), limit.newest = kNever;
  refresh_limit(cx, ix);
}

// ---- For people ----

namespace {

constexpr std::size_t kHoldersNamed = 5;
constexpr std::uint32_t kLookedAt = 10'000;

bool names_limit(const State& state, const Task& task, LimitIx ix) {
  const ClassIx cls = state.runs[task.run].nodes[task.node].cls;
  return std::ranges::find(state.ready[cls].limits, ix) != state.ready[cls].limits.end();
}

TaskId shown_id(const State& state, const Task& task) {
  const Run& run = state.runs[task.run];
  return {run.id, task.index, run.plan->nodes[task.node].level};
}

std::vector<TaskId> holders_of(const State& state, LimitIx ix, std::size_t most) {
  std::vector<TaskId> out;
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
    const Worker& worker = state.workers[WorkerIx{i}];
    for (TaskIx at = worker.held.head; at.valid(); at = state.tasks[at].links.next) {
      if (out.size() == most) return out;
      if (names_limit(state, state.tasks[at], ix)) out.push_back(shown_id(state, state.tasks[at]));
    }
  }
  return out;
}

// How many ready tasks of this limit come before it; looks at a bounded number of them.
std::uint32_t place_in_line(const State& state, LimitIx ix, const Task& task) {
  const std::int8_t priority = state.runs[task.run].plan->node_spec(task.node).priority;
  const std::uint64_t order = std::get<Queued>(task.phase).order;
  std::uint32_t before = 0;
  std::uint32_t looked = 0;
  for (const ClassIx cls : state.limits[ix].classes) {
    for (const PriorityList& list : state.ready[cls].lists) {
      if (list.priority < priority) break;
      for (TaskIx at = list.tasks.head; at.valid(); at = state.tasks[at].links.next) {
        const bool earlier =
            list.priority > priority || std::get<Queued>(state.tasks[at].phase).order < order;
        if (&state.tasks[at] == &task || !earlier) break;
        ++before;
        if (++looked == kLookedAt) return before + 1;
      }
    }
  }
  return before + 1;
}

std::string limit_holders(const State& state, LimitIx ix) {
  const Limit& limit = state.limits[ix];
  std::string out;
  for (const TaskId& id : holders_of(state, ix, kHoldersNamed)) {
    out += (out.empty() ? "" : ", ") + to_text(id);
  }
  if (limit.held > kHoldersNamed) {
    out += " and " + std::to_string(limit.held - kHoldersNamed) + " more";
  }
  return out + (limit.held == 1 ? " holds it" : " hold it");
}

}  // namespace

std::optional<LimitObstacle> obstacle_of(const State& state, LimitIx ix, const Task& task,
                                         Instant now) {
  const Limit& limit = state.limits[ix];
  const std::string name = in_quotes(limit.name);
  LimitObstacle out;
  if (!limit.is_set) {
    out.obstacle = {WaitReason::kNoSuchLimit, true, "limit " + name + " does not exist",
                    "vortex limits set " + limit.name + " --slots 5"};
    out.moves_when = "somebody sets the limit";
    return out;
  }
  if (!limit.is_full) return std::nullopt;
  const bool is_ready = std::get<Queued>(task.phase).place == Queued::Place::kReady;
  const std::string line =
      is_ready ? "; number " + std::to_string(place_in_line(state, ix, task)) + " in line" : "";
  std::string what = "limit " + name + " is full";
  if (slots_are_full(limit)) {
    what += " (" + std::to_string(limit.held) + " of " + count_text(limit.slots, "slot") +
            "): " + limit_holders(state, ix);
    out.moves_when = "one of the tasks that hold the limit ends";
  } else {
    what += ": " + std::to_string(granted_lately(limit, now)) + " of " +
            std::to_string(limit.rate) + " were started within " + short_text(*limit.window);
    out.moves_when = "the rate allows more";
    out.until = next_leaves(limit, now);
  }
  out.obstacle = {WaitReason::kLimitFull, false, what + line, {}};
  return out;
}

std::vector<LimitInfo> limit_infos(const State& state, Instant now) {
  std::vector<LimitInfo> out;
  for (const auto& [name, ix] : state.limits.by_name()) {
    const Limit& limit = state.limits[ix];
    LimitInfo& info = out.emplace_back();
    info.row = static_cast<const LimitRow&>(limit);
    info.is_set = limit.is_set;
    info.held = limit.held;
    for (const ClassIx cls : limit.classes) info.waiting += state.ready[cls].ready;
    info.lately = granted_lately(limit, now);
    info.holders = holders_of(state, ix, kLimitHoldersMax);
  }
  return out;
}

std::vector<std::string> wrong_limits(const State& state) {
  std::map<LimitIx, std::uint32_t> held;
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
    const Worker& worker = state.workers[WorkerIx{i}];
    for (TaskIx at = worker.held.head; at.valid(); at = state.tasks[at].links.next) {
      const Task& task = state.tasks[at];
      for (const LimitIx ix : state.ready[state.runs[task.run].nodes[task.node].cls].limits) {
        ++held[ix];
      }
    }
  }
  std::vector<std::string> wrong;
  for (const auto& [name, ix] : state.limits.by_name()) {
    if (state.limits[ix].held != held[ix]) {
      wrong.push_back("limit " + in_quotes(name) + ": count of tasks that hold it is wrong");
    }
  }
  return wrong;
}

}  // namespace vortex::core
