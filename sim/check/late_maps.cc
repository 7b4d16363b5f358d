#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

using Items = std::vector<std::string>;

// The member l of a JSON object, as sim/draw_eighth.cc draws it: a list of short strings.
std::optional<Items> read_list(std::string_view json) {
  constexpr std::string_view kBegin = R"("l":[)";
  const std::size_t begin = json.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  json.remove_prefix(begin + kBegin.size());
  Items items;
  while (json.starts_with('"')) {
    const std::size_t end = json.find('"', 1);
    items.emplace_back(json.substr(1, end - 1));
    json.remove_prefix(end + 1);
    if (json.starts_with(',')) json.remove_prefix(1);
  }
  return items;
}

const std::string* over_of(const DagPlan& plan, std::uint32_t node) {
  const auto& map = plan.node_spec(node).map;
  const auto* over = map ? std::get_if<MapOver>(&map->over) : nullptr;
  return over == nullptr ? nullptr : &over->text;
}

// What has been committed of params and outputs, and what maps over them must be made of.
class Sources {
 public:
  void note(const Committed& commit) {
    for (const TaskDataRow& row : commit.rows.task_data) {
      if (row.outputs) outputs_[{row.id.run, row.id.index}] = *row.outputs;
    }
  }

  // Unset: there is no list.
  std::optional<Items> items(const RunRow& run, std::uint32_t node) const {
    const std::string& over = *over_of(*run.plan, node);
    if (over.contains("params.")) return read_list(run.request ? run.request->params : "");
    const std::size_t begin = over.find("tasks.") + 6;
    const std::string name = over.substr(begin, over.find(".outputs") - begin);
    for (std::uint32_t n = 0; n < run.plan->nodes.size(); ++n) {
      if (run.plan->node_spec(n).name != name) continue;
      const auto at = outputs_.find({run.id, run.plan->nodes[n].planned_first});
      return at == outputs_.end() ? std::nullopt : read_list(at->second);
    }
    return std::nullopt;
  }

 private:
  std::map<std::pair<RunId, std::uint32_t>, std::string> outputs_;  // by run and index
};

// Where the tasks of a map stand, by the row of the run alone.
struct Place {
  std::uint32_t first = 0;
  std::uint32_t tasks = 0;
  bool failed = false;
};
std::optional<Place> place_of(const RunRow& run, std::uint32_t node) {
  std::uint32_t first = run.plan->base->tasks;
  for (std::size_t i = 0; i + 1 < run.late.size(); i += 2) {
    const bool failed = run.late[i + 1] == kLateFailed;
    const std::uint32_t tasks = failed ? 1 : run.late[i + 1];
    if (run.late[i] == node) return Place{first, tasks, failed};
    first += tasks;
  }
  return std::nullopt;
}

// 52: a map over an output or a param is made once, of what was committed: one task per item, and
// of something else than a list none but the one that fails for it.
class LateMapMade : public CommitChecker {
 public:
  explicit LateMapMade(const CheckerTools& tools) : CommitChecker("52-late-map-made", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    sources_.note(commit);
    for (const auto& change : picture.runs().changes()) {
      check(*change.after, change.before ? change.before->late : LateCounts{});
    }
    for (const auto& change : picture.tasks().changes()) {
      if (!change.before) check_task(picture, *change.after);
    }
  }

 private:
  void check(const RunRow& run, const LateCounts& before) {
    const bool grows = run.late.size() >= before.size() &&
                       std::equal(before.begin(), before.end(), run.late.begin());
    if (!grows) violated("run {} made a map another time", to_text(run.id));
    for (std::size_t i = before.size(); i + 1 < run.late.size(); i += 2) {
      check_map(run, run.late[i], run.late[i + 1]);
    }
  }

  void check_map(const RunRow& run, std::uint32_t node, std::uint32_t tasks) {
    const NodeSpec& spec = run.plan->node_spec(node);
    if (over_of(*run.plan, node) == nullptr) {
      return violated("'{}' of run {} is no map to be made", spec.name, to_text(run.id));
    }
    const auto items = sources_.items(run, node);
    if (tasks == kLateFailed) {
      const bool full = policy().quota.tasks > 0 || policy().quota_per_token.tasks > 0;
      if (!items || full || !spec.condition.empty()) return;
      return violated("map '{}' of run {} failed, although there is a list of {}", spec.name,
                      to_text(run.id), items->size());
    }
    if (items && items->size() == tasks) return;
    violated("map '{}' of run {} was made of {} items; its list has {}", spec.name, to_text(run.id),
             tasks, items ? items->size() : 0);
  }

  void check_task(const Picture& picture, const TaskRow& task) {
    const RunRow* run = picture.runs().find(task.id.run);
    if (run == nullptr || over_of(*run->plan, task.node) == nullptr) return;
    const auto place = place_of(*run, task.node);
    const bool fits =
        place && task.id.index >= place->first && task.id.index - place->first < place->tasks;
    if (!fits) violated("{} is not among the items of its map", say(task));
  }

  Sources sources_;
};

// 53: an attempt at an item is handed over with that item of the committed list.
class OwnItem : public Checker {
 public:
  explicit OwnItem(const CheckerTools& tools) : Checker("53-own-item", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      sources_.note(*commit);
    } else if (const auto* given = std::get_if<WorkerGiven>(&fact)) {
      for (const Assignment& one : given->assignments) check(picture, one);
    }
  }

 private:
  void check(const Picture& picture, const Assignment& given) {
    const RunRow* run = picture.runs().find(given.attempt.task.run);
    const auto* work = std::get_if<PlannedWork>(&given.work);
    if (run == nullptr || work == nullptr || over_of(*run->plan, work->node) == nullptr) return;
    const auto items = sources_.items(*run, work->node);
    const auto place = place_of(*run, work->node);
    const std::uint32_t index = given.attempt.task.index;
    if (!items || !place || place->failed || index < place->first) {
      return violated("{} was handed over, which is no item", say(given.attempt));
    }
    const std::string& own = items->at(index - place->first);
    const std::string told = work->plan->map_item(index);
    if (told == own) return;
    violated("{} was handed over with item '{}' instead of '{}'", say(given.attempt), told, own);
  }

  Sources sources_;
};

// 54: a map without items has no task and is done, so what needs only such maps is not skipped.
class EmptyMapDone : public CommitChecker {
 public:
  explicit EmptyMapDone(const CheckerTools& tools) : CommitChecker("54-empty-map-done", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) {
      const RunRow& run = *change.after;
      const RunNodes* nodes = picture.nodes(run.id);
      if (nodes == nullptr || run.state == RunState::kRunning) continue;
      if (run.ending == RunEnding::kNone) check(run, *nodes);
    }
  }

 private:
  static bool is_empty(const RunRow& run, std::uint32_t node) {
    const auto place = place_of(run, node);
    return place && place->tasks == 0;
  }

  void check(const RunRow& run, const RunNodes& nodes) {
    for (std::uint32_t n = 0; n < run.plan->nodes.size(); ++n) {
      const PlanNode& node = run.plan->nodes[n];
      const NodeSpec& spec = run.plan->node_spec(n);
      if (is_empty(run, n)) {
        if (nodes.node(n).made > 0) violated("map '{}' without items has tasks", spec.name);
        continue;
      }
      const bool plain = spec.trigger == TriggerRule::kAllSuccess && spec.condition.empty();
      const bool all_empty =
          std::ranges::all_of(node.needs, [&](std::uint32_t need) { return is_empty(run, need); });
      if (!plain || node.needs.empty() || !all_empty) continue;
      if (nodes.node(n).made > 0 && nodes.node(n).end != NodeEnd::kSkipped) continue;
      violated("'{}' of run {} needs only maps without items, and did not run", spec.name,
               to_text(run.id));
    }
  }
};

}  // namespace

void add_late_map_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<LateMapMade>(tools));
  list.push_back(std::make_unique<OwnItem>(tools));
  list.push_back(std::make_unique<EmptyMapDone>(tools));
}

}  // namespace vortex::sim
