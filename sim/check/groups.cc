#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// The number in {"n":1}, which is all that submits of these DAGs say; empty: they say nothing.
std::string number_in(const std::string& params) {
  std::string digits;
  for (const char c : params) {
    if (c >= '0' && c <= '9') digits += c;
  }
  return digits;
}

// The key of a run as the DAG defines it, for the few forms that are drawn.
std::string key_of(const ConcurrencySpec& spec, const std::string& params) {
  const std::string number = number_in(params);
  if (spec.key == "${{ params.n }}") return number;
  if (spec.key == "c-${{ params.n ?? 7 }}") return "c-" + (number.empty() ? "7" : number);
  return spec.key;
}

using Group = std::pair<std::string, std::string>;

const ConcurrencySpec* limit_of(const RunRow& run) {
  if (!run.plan || !run.plan->spec.concurrency || !run.request) return nullptr;
  return &*run.plan->spec.concurrency;
}

Group group_of(const RunRow& run) {
  return {run.plan->spec.name, key_of(*run.plan->spec.concurrency, run.request->params)};
}

bool goes_on(const RunRow& run) {
  return run.state == RunState::kRunning && !run.waits_for_turn && run.starts_at == kNever;
}
bool waits(const RunRow& run) {
  return run.state == RunState::kRunning && run.waits_for_turn && run.ending == RunEnding::kNone;
}

// 62: no more runs of a group go on at once than its DAG allows; what waits has started nothing,
// and what is ended before its turn never does.
class GroupLimitKept : public CommitChecker {
 public:
  explicit GroupLimitKept(const CheckerTools& tools)
      : CommitChecker("62-group-limit-kept", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) take(*change.after);
    // Only now: a place may be that of a run which ends in this very commit.
    for (const auto& [group, limit] : std::exchange(entered_, {})) {
      if (going_[group].size() <= limit) continue;
      violated("{} runs of group '{}' of '{}' go on; {} are allowed", going_[group].size(),
               group.second, group.first, limit);
    }
    for (const auto& change : picture.tasks().changes()) check_task(picture, *change.after);
  }

 private:
  void take(const RunRow& run) {
    const ConcurrencySpec* limit = limit_of(run);
    if (limit == nullptr) return;
    if (run.request->group != group_of(run).second) {
      violated("run {} is in group '{}', it belongs to '{}'", to_text(run.id), run.request->group,
               group_of(run).second);
    }
    std::set<RunId>& group = going_[group_of(run)];
    if (!goes_on(run)) {
      group.erase(run.id);
      return;
    }
    if (group.insert(run.id).second) entered_.emplace_back(group_of(run), limit->limit);
  }

  void check_task(const Picture& picture, const TaskRow& task) {
    const RunRow* run = picture.runs().find(task.id.run);
    if (run == nullptr || !run->waits_for_turn) return;
    const bool is_still = task.state == TaskState::kWaiting || task.state == TaskState::kCancelled;
    if (!is_still) violated("{} is {}, but its run has not begun", say(task), to_text(task.state));
  }

  std::map<Group, std::set<RunId>> going_;
  std::vector<std::pair<Group, std::uint32_t>> entered_;  // in this commit, with their limits
};

// 63: turns are given in the order of age, and to everybody in the end: nobody begins while an
// older run of the group waits, and nobody waits for ever while there is room.
class TurnsInOrder : public CommitChecker {
 public:
  explicit TurnsInOrder(const CheckerTools& tools) : CommitChecker("63-turns-in-order", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    std::vector<const RunRow*> begun;
    std::set<RunId> fresh;  // their time came in this commit, when others had theirs
    for (const auto& change : picture.runs().changes()) {
      const RunRow& run = *change.after;
      if (limit_of(run) == nullptr) continue;
      const bool went_on = change.before && goes_on(*change.before);
      const bool had_ended = change.before && change.before->state != RunState::kRunning;
      waits(run) ? (void)waiting_[group_of(run)].insert(run.id)
                 : (void)waiting_[group_of(run)].erase(run.id);
      if (goes_on(run) && !went_on && !had_ended) begun.push_back(&run);
      if (change.before && change.before->starts_at != kNever) fresh.insert(run.id);
    }
    for (const RunRow* run : begun) {
      const auto& waiting = waiting_[group_of(*run)];
      const auto older =
          std::ranges::find_if(waiting, [&](RunId id) { return !fresh.contains(id); });
      if (older == waiting.end() || *older > run->id) continue;
      violated("run {} began while run {} of its group waited", to_text(run->id), to_text(*older));
    }
  }

  void finish(const Picture&, Instant) override {
    for (const auto& [group, waiting] : waiting_) {
      if (waiting.empty()) continue;
      violated("run {} of group '{}' of '{}' never had its turn", to_text(*waiting.begin()),
               group.second, group.first);
    }
  }

 private:
  std::map<Group, std::set<RunId>> waiting_;
};

}  // namespace

void add_group_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<GroupLimitKept>(tools));
  list.push_back(std::make_unique<TurnsInOrder>(tools));
}

}  // namespace vortex::sim
