#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "base/reached.h"
#include "core/explain.h"
#include "core/machine.h"
#include "core/obstacles.h"
#include "model/check.h"
#include "model/group_key.h"

namespace vortex::core {
namespace {

bool is_limited(const Run& run) { return run.plan->spec.concurrency.has_value(); }

GroupName group_name(const DagPlan& plan, const RunRequest& request) {
  return {plan.spec.name, request.group};
}

GroupName group_name(const Run& run) {
  static const RunRequest none;
  return group_name(*run.plan, run.request ? *run.request : none);
}

std::string shown_group(const GroupName& name) {
  const std::string dag = "DAG " + in_quotes(name.dag);
  return name.key.empty() ? dag : "group " + in_quotes(name.key) + " of " + dag;
}

// "r7", "r7 and 3 others"
std::string group_holders(const RunGroup& group) {
  if (group.holding.empty()) return "nobody";
  std::string first = to_text(*group.holding.begin());
  if (group.holding.size() == 1) return first;
  return first + " and " + count_text(group.holding.size() - 1, "other run");
}

std::string full_text(const GroupName& name, const RunGroup& group) {
  return shown_group(name) + " is full: " + group_holders(group) +
         (group.holding.size() == 1 ? " holds it" : " hold it");
}

std::size_t limit_of(const Run& run) { return run.plan->spec.concurrency->limit; }

// Nothing of it has started, and nothing will.
void end_unbegun(Context& cx, RunIx ix, std::string reason) {
  Run& run = cx.run(ix);
  if (run.ending != RunEnding::kNone) return;
  run.waits_for_turn = true;
  run.ending = RunEnding::kCancelled;
  run.finally_ending = RunEnding::kCancelled;
  run.reason = std::move(reason);
  cx.state.groups.leave(group_name(run), run.id);
  cx.touch(ix);
  if (run.reason.empty()) {
    cx.event(EventKind::kRunCancelRequested, {.worker = {}, .task = {}, .run = ix},
             {{"reason", std::string("cancel")}}, Severity::kWarning);
  } else {
    cx.event(EventKind::kRunSkipped, {.worker = {}, .task = {}, .run = ix},
             {{"reason", run.reason}});
  }
  begin_sweep(cx, ix);
}

void give_turn(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  const GroupName name = group_name(run);
  cx.state.groups.leave(name, run.id);
  cx.state.groups.hold(name, run.id);
  run.waits_for_turn = false;
  cx.touch(ix);
  cx.event(EventKind::kRunBegan, {.worker = {}, .task = {}, .run = ix}, {{"group", name.key}});
  begin_run(cx, ix);
}

void replace_waiting(Context& cx, const GroupName& name, RunId by) {
  const RunGroup* group = cx.state.groups.find(name);
  if (group == nullptr) return;
  const std::vector<RunId> waiting(group->waiting.begin(), group->waiting.end());
  for (const RunId id : waiting) {
    REACHED("core: run that waited for its turn was replaced");
    end_unbegun(cx, cx.state.runs.find(id), to_text(by) + " took its place in line");
  }
}

// So many of the oldest that one more will fit once they have ended.
void cancel_holders(Context& cx, const GroupName& name, RunId by, std::size_t limit) {
  const RunGroup* group = cx.state.groups.find(name);
  if (group == nullptr) return;
  std::vector<RunIx> staying;
  for (const RunId id : group->holding) {
    const RunIx ix = cx.state.runs.find(id);
    if (cx.run(ix).ending == RunEnding::kNone && !in_finally(cx.run(ix))) staying.push_back(ix);
  }
  for (std::size_t i = 0; i < staying.size() && staying.size() - i >= limit; ++i) {
    REACHED("core: run was cancelled by a newer one of its group");
    cx.run(staying[i]).reason = to_text(by) + " replaced it";
    cancel_run(cx, staying[i]);
  }
}

bool has_room(const RunGroup* group, std::size_t limit) {
  if (planted(PlantedBug::kGroupLimitIgnored)) return true;
  return group == nullptr || (group->waiting.empty() && group->holding.size() < limit);
}

}  // namespace

std::string set_group(RunRequest& request, const DagPlan& plan) {
  if (!plan.spec.concurrency) return {};
  auto key = key_of_run(plan.base->group_key, plan.spec.name, request.params);
  if (!key) return "the key of 'concurrency' " + key.error();
  request.group = *std::move(key);
  return {};
}

void begin_or_wait(Context& cx, RunIx ix) {
  Run& run = cx.run(ix);
  if (!is_limited(run)) return begin_run(cx, ix);
  const ConcurrencySpec& spec = *run.plan->spec.concurrency;
  const GroupName name = group_name(run);
  const RunGroup* group = cx.state.groups.find(name);
  if (has_room(group, spec.limit)) {
    cx.state.groups.hold(name, run.id);
    return begin_run(cx, ix);
  }
  if (spec.on_full == OnFull::kSkip) {
    REACHED("core: run was skipped because its group is full");
    return end_unbegun(cx, ix, full_text(name, *group));
  }
  if (spec.on_full != OnFull::kQueue) replace_waiting(cx, name, run.id);
  if (spec.on_full == OnFull::kCancelRunning) cancel_holders(cx, name, run.id, spec.limit);
  REACHED("core: run waits for its turn");
  run.waits_for_turn = true;
  cx.state.groups.wait(name, run.id);
  cx.touch(ix);
  group = cx.state.groups.find(name);
  cx.event(EventKind::kRunWaits, {.worker = {}, .task = {}, .run = ix},
           {{"group", name.key}, {"holder", group_holders(*group)}});
}

void leave_group(Context& cx, const Run& run) {
  if (is_limited(run)) cx.state.groups.leave(group_name(run), run.id);
}

bool end_if_unbegun(Context& cx, RunIx ix) {
  if (!cx.run(ix).waits_for_turn) return false;
  end_unbegun(cx, ix, {});
  return true;
}

bool give_turns(Context& cx) {
  bool given = false;
  while (cx.state.groups.any_due() && cx.turns_left > 0) {
    const GroupName name = cx.state.groups.next_due();
    for (const RunGroup* group = cx.state.groups.find(name);
         group != nullptr && !group->waiting.empty(); group = cx.state.groups.find(name)) {
      const RunId first =
          planted(PlantedBug::kTurnOutOfOrder) ? *group->waiting.rbegin() : *group->waiting.begin();
      const RunIx next = cx.state.runs.find(first);
      if (group->holding.size() >= limit_of(cx.run(next))) break;
      if (cx.turns_left == 0) {
        cx.state.groups.make_due(name);
        break;
      }
      --cx.turns_left;
      give_turn(cx, next);
      given = true;
    }
  }
  return given;
}

void restore_group(Context& cx, const Run& run) {
  if (!is_limited(run) || run.starts_at != kNever) return;
  if (!run.waits_for_turn) {
    if (!planted(PlantedBug::kGroupForgottenAtReload))
      cx.state.groups.hold(group_name(run), run.id);
  } else if (run.ending == RunEnding::kNone) {
    cx.state.groups.wait(group_name(run), run.id);
  }
}

std::string why_group_is_full(const State& state, const DagPlan& plan, const RunRequest& request) {
  if (!plan.spec.concurrency) return {};
  const GroupName name = group_name(plan, request);
  const RunGroup* group = state.groups.find(name);
  if (group == nullptr || group->holding.size() < plan.spec.concurrency->limit) return {};
  return full_text(name, *group) + "; retry it when that has ended";
}

Explanation why_no_turn(const State& state, const Run& run) {
  const GroupName name = group_name(run);
  const RunGroup* group = state.groups.find(name);
  Explanation out;
  out.reason = WaitReason::kWaitsForTurn;
  out.moves_when = "its run begins, when the runs before it have ended";
  if (group == nullptr) return out;
  const auto place = std::distance(group->waiting.begin(), group->waiting.find(run.id)) + 1;
  std::string what = full_text(name, *group) + " (limit " + std::to_string(limit_of(run)) + "); " +
                     to_text(run.id) + " is number " + std::to_string(place) + " in line";
  std::string action;
  if (!group->holding.empty()) action = "vortex runs show " + to_text(*group->holding.begin());
  out.details.push_back(what);
  out.obstacles.push_back({WaitReason::kWaitsForTurn, false, std::move(what), std::move(action)});
  return out;
}

std::vector<std::string> wrong_groups(const State& state) {
  std::map<GroupName, RunGroup> there;
  for (std::size_t slot = 0; slot < state.runs.slots(); ++slot) {
    const Run* run = state.runs.at_slot(slot);
    if (run == nullptr || !is_limited(*run) || run->state != RunState::kRunning) continue;
    if (run->starts_at != kNever) continue;
    if (!run->waits_for_turn) there[group_name(*run)].holding.insert(run->id);
    if (run->waits_for_turn && run->ending == RunEnding::kNone) {
      there[group_name(*run)].waiting.insert(run->id);
    }
  }
  std::vector<std::string> wrong;
  for (const auto& [name, group] : there) {
    const RunGroup* known = state.groups.find(name);
    if (known == nullptr || known->holding != group.holding || known->waiting != group.waiting) {
      wrong.push_back(shown_group(name) + ": its runs are wrong");
    }
  }
  if (wrong.empty() && there.size() < state.groups.all().size()) {
    const auto empty = std::ranges::count_if(state.groups.all(), [](const auto& named) {
      return named.second.holding.empty() && named.second.waiting.empty();
    });
    if (there.size() + static_cast<std::size_t>(empty) != state.groups.all().size()) {
      wrong.emplace_back("a group has runs that are not there");
    }
  }
  return wrong;
}

}  // namespace vortex::core
