#include <algorithm>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// How a run must end, from what is known of it: a cancel makes it Cancelled, a timeout Failed, also
// one of its `finally` tasks, of which some may never have been made. Else
// every node has come to its end, and one that failed or was cancelled makes the run Failed;
// skipped ones and allowed failures do no harm.
RunState due_state(const RunRow& run, const RunNodes& nodes) {
  if (run.ending == RunEnding::kCancelled) return RunState::kCancelled;
  if (run.finally_ending == RunEnding::kCancelled) return RunState::kCancelled;
  if (run.ending == RunEnding::kTimedOut) return RunState::kFailed;
  if (run.finally_ending == RunEnding::kTimedOut) return RunState::kFailed;
  for (std::uint32_t n = 0; n < nodes.plan().nodes.size(); ++n) {
    if (nodes.spoils(n)) return RunState::kFailed;
  }
  return RunState::kCompleted;
}

// Nodes that must have ended before the run may. What was stopped need not: what it had not made
// then, it never will.
std::uint32_t must_end(const RunRow& run, const RunNodes& nodes) {
  std::uint32_t open = 0;
  for (std::uint32_t n = 0; n < nodes.plan().nodes.size(); ++n) {
    const bool last = nodes.plan().node_spec(n).finally;
    const RunEnding ending = last ? run.finally_ending : run.ending;
    if (!nodes.node(n).end && ending == RunEnding::kNone) ++open;
  }
  return open;
}

// Somebody ran an item of a stopped map again: what it had skipped or never made comes back in
// slices, and the item may end before the first of them.
bool map_goes_on(const RunRow& run, const RunNodes& nodes) {
  for (std::uint32_t n = 0; n < nodes.plan().nodes.size(); ++n) {
    const NodeStanding& node = nodes.node(n);
    if (!nodes.plan().node_spec(n).map || node.made == 0) continue;
    if (std::ranges::find(run.stopped, n) != run.stopped.end()) continue;
    if (node.skipped > 0 || node.made < nodes.wanted(n).value_or(0)) return true;
  }
  return false;
}

// 31: the end of a run follows from its nodes, and comes with the end of the last of them.
class RunEndFollows : public CommitChecker {
 public:
  explicit RunEndFollows(const CheckerTools& tools) : CommitChecker("31-run-end-follows", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) check(picture, *change.after);
  }

 private:
  void check(const Picture& picture, const RunRow& run) {
    const RunNodes* nodes = picture.nodes(run.id);
    if (nodes == nullptr) return;
    const bool ending = run.ending != RunEnding::kNone || run.finally_ending != RunEnding::kNone;
    if (run.state == RunState::kRunning) {
      // One that was stopped ends when the sweep over its tasks has come to the last.
      if (ending || nodes->nodes_open() > 0 || nodes->tasks_open() > 0) return;
      if (map_goes_on(run, *nodes)) return;
      // Nothing is decided before its time, even where nothing will be made.
      if (run.starts_at != kNever) return;
      return violated("run {} goes on although all of its nodes have ended", to_text(run.id));
    }
    if (nodes->tasks_open() > 0 || (nodes->nodes_open() > 0 && must_end(run, *nodes) > 0)) {
      return violated("run {} has ended with {} open nodes and {} open tasks", to_text(run.id),
                      nodes->nodes_open(), nodes->tasks_open());
    }
    const RunState due = due_state(run, *nodes);
    if (run.state == due) return;
    violated("run {} has ended as {}; its nodes make it {}", to_text(run.id), to_text(run.state),
             to_text(due));
  }
};

// 35: a map whose run was not stopped makes all of its items, unless it bears no more failures;
// also when an operator let it go on after that.
class MapComplete : public CommitChecker {
 public:
  explicit MapComplete(const CheckerTools& tools) : CommitChecker("35-map-complete", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) {
      if (change.after->state != RunState::kRunning) check(picture, *change.after);
    }
  }

 private:
  void check(const Picture& picture, const RunRow& run) {
    const RunNodes* nodes = picture.nodes(run.id);
    if (nodes == nullptr || run.ending != RunEnding::kNone) return;
    if (run.finally_ending != RunEnding::kNone) return;
    for (std::uint32_t n = 0; n < nodes->plan().nodes.size(); ++n) {
      const auto& node = nodes->node(n);
      const std::uint32_t made = node.made;
      const std::uint32_t wanted = nodes->wanted(n).value_or(0);
      if (!nodes->plan().node_spec(n).map || nodes->map_stopped(n)) continue;
      if (made == 0 && node.end == NodeEnd::kSkipped) continue;
      if (made == wanted && node.skipped == 0) continue;
      violated("run {} has ended with {} of {} items of its map '{}', {} of them skipped",
               to_text(run.id), made, wanted, nodes->plan().node_spec(n).name, node.skipped);
    }
  }
};

}  // namespace

void add_run_end_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<RunEndFollows>(tools));
  list.push_back(std::make_unique<MapComplete>(tools));
}

}  // namespace vortex::sim
