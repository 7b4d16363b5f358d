#include <set>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 27: once faults stop, every accepted task becomes final; and no run ends before its tasks have.
//
// The world decides how long it waits before it calls `finish`; what then is open is stuck. Runs
// and queues that a person has paused may wait for ever.
class AllEnds : public Checker {
 public:
  explicit AllEnds(const CheckerTools& tools) : Checker("27-all-ends", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (std::holds_alternative<FaultsStopped>(fact)) faults_stopped_ = true;
    if (!std::holds_alternative<Committed>(fact)) return;
    for (const auto& change : picture.runs().changes()) check_ended_whole(picture, *change.after);
  }

  void finish(const Picture& picture, Instant) override {
    if (!faults_stopped_) return;
    std::set<RunId> may_wait = runs_on_paused_queues(picture);
    add_family(picture, may_wait);
    for (const auto& [id, entry] : picture.runs().all()) {
      const RunRow& run = entry.row;
      if (run.state != RunState::kRunning || may_wait.contains(id)) continue;
      if (run.paused && run.ending == RunEnding::kNone) continue;
      violated("run {} never ended: {}", to_text(id), first_open(picture, id));
    }
  }

 private:
  void check_ended_whole(const Picture& picture, const RunRow& run) {
    const RunNodes* nodes = picture.nodes(run.id);
    if (run.state == RunState::kRunning || run.ending != RunEnding::kNone) return;
    if (run.finally_ending != RunEnding::kNone) return;
    if (nodes == nullptr || nodes->nodes_open() == 0) return;
    violated("run {} became {} with {} nodes still to run: {}", to_text(run.id), to_text(run.state),
             nodes->nodes_open(), first_open(picture, run.id));
  }

  static RunId parent_of(const RunRow& run) { return run.request ? run.request->parent : RunId{}; }

  // A pause holds up what is below it, and what waits holds up what is above it.
  static void add_family(const Picture& picture, std::set<RunId>& may_wait) {
    std::set<RunId> paused;
    for (const auto& [id, entry] : picture.runs().all()) {  // parents come before their children
      const RunRow& run = entry.row;
      if (run.state != RunState::kRunning || run.ending != RunEnding::kNone) continue;
      if (run.paused || paused.contains(parent_of(run))) paused.insert(id);
    }
    may_wait.insert(paused.begin(), paused.end());
    for (const RunId id : std::set<RunId>(may_wait)) {
      for (const RunRow* run = picture.runs().find(id); run != nullptr;) {
        may_wait.insert(run->id);
        run = picture.runs().find(parent_of(*run));
      }
    }
  }

  static std::set<RunId> runs_on_paused_queues(const Picture& picture) {
    std::set<std::string> paused;
    for (const auto& [name, entry] : picture.queues().all()) {
      if (entry.row.paused) paused.insert(name);
    }
    std::set<RunId> runs;
    if (paused.empty()) return runs;
    for (const auto& [id, entry] : picture.tasks().all()) {
      const NodeSpec* spec = is_final(entry.row.state) ? nullptr : picture.spec_of(entry.row);
      if (spec != nullptr && paused.contains(spec->requirements.queue)) runs.insert(id.run);
    }
    return runs;
  }

  static std::string first_open(const Picture& picture, RunId run) {
    const auto& tasks = picture.tasks().all();
    for (auto at = tasks.lower_bound({run, 0}); at != tasks.end() && at->first.run == run; ++at) {
      if (!is_final(at->second.row.state)) return say(at->second.row);
    }
    return "all its tasks have";
  }

  bool faults_stopped_ = false;
};

}  // namespace

void add_liveness_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<AllEnds>(tools));
}

}  // namespace vortex::sim
