#include <algorithm>
#include <map>

#include "sim/check/claims.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"
#include "sim/model/abilities.h"

namespace vortex::sim {

namespace {

// 37: work goes only to a worker that is present, well and wanted and has what the task asks for,
// from a run and a queue that nobody has paused. Slots, resources in use and max_parallel are 25.
class PlacedRight : public ClaimChecker {
 public:
  explicit PlacedRight(const CheckerTools& tools) : ClaimChecker("37-placed-right", tools) {}

 private:
  void claimed(const Picture& picture, const Claim& claim) override {
    const char* wrong = objection(picture, claim);
    if (wrong == nullptr) wrong = lacks(claim.info, claim.spec.requirements);
    if (wrong == nullptr) return;
    violated("{} was given to '{}' at {}: {}", say(*claim.event.task), claim.event.worker.text,
             say(claim.event.at), wrong);
  }

  // What runs last is stopped by itself, which the row says.
  static bool is_stopped(const Picture& picture, const Claim& claim, const ToldRun* run) {
    if (!claim.spec.finally) return run != nullptr && run->stopped;
    const RunRow* before = picture.runs().find_before(claim.task.id.run);
    return before != nullptr && before->finally_ending != RunEnding::kNone;
  }

  const char* objection(const Picture& picture, const Claim& claim) const {
    if (claim.worker.standing == Standing::kDraining) return "the worker drains";
    if (claim.worker.standing != Standing::kActive) return "the worker is not there";
    const bool on_probation = claim.worker.blame == WorkerBlame::kProbation;
    if (claim.worker.cordoned.value_or(false) && !on_probation) return "the worker is cordoned";
    if (claim.worker.suspect) return "the worker is suspect";
    const ToldRun* run = told().run(claim.task.id.run);
    if (run != nullptr && run->paused) return "its run is paused";
    if (is_stopped(picture, claim, run)) return "its run was stopped";
    if (told().queue_paused(claim.spec.requirements.queue)) return "its queue is paused";
    return nullptr;
  }
};

// 38: who had a task last does not get it again for a while, when another could take it all along:
// one that was well and wanted when the task came back and has been so ever since. A leader that
// doubts itself (the brake) has its own idea of who is well, and a worker that was forgotten since
// comes back as somebody new. An item of a map that goes on by an operator's act starts clean.
class KeepsAway : public ClaimChecker {
 public:
  explicit KeepsAway(const CheckerTools& tools) : ClaimChecker("38-keeps-away", tools) {}

 private:
  void claimed(const Picture& picture, const Claim& claim) override {
    const ToldTask* task = told().task(claim.task.id);
    if (task == nullptr || task->previous != claim.event.worker) return;
    if (!claim.spec.requirements.worker.empty()) return;
    // Of an earlier leader: it starts to count anew, and may not know of others yet.
    if (task->requeued_at <= term_began_ || task->requeued_at <= braked_until_) return;
    const auto forgotten = forgotten_at_.find(claim.event.worker);
    if (forgotten != forgotten_at_.end() && forgotten->second >= task->requeued_at) return;
    const auto acted = acted_at_.find(claim.task.id.run);
    const bool clean = acted != acted_at_.end() && acted->second >= task->requeued_at;
    if (claim.spec.map && clean) return;
    const TaskRow* row = picture.tasks().find_before(claim.task.id);
    const bool seen = row != nullptr && row->epoch == task->epoch;
    const Instant ready = seen ? std::max(row->ready_at, task->requeued_at) : task->requeued_at;
    if (claim.event.at - ready >= policy().keep_away) return;
    for (const auto& [id, since] : well_since_) {
      if (id == claim.event.worker || since >= task->requeued_at) continue;
      const ToldWorker* other = told().worker(id);
      const WorkerInfo* info = info_of_life(picture, {id, other->incarnation});
      if (info == nullptr || lacks(*info, claim.spec.requirements) != nullptr) continue;
      return violated("{} went back to '{}' {} after it was taken from it, though '{}' can do it",
                      say(claim.task.id), claim.event.worker.text,
                      say(claim.event.at - task->requeued_at), id.text);
    }
  }

  void after(const Picture&, const Event& event) override {
    if (event.kind == EventKind::kBrakeEngaged) braked_until_ = kNever;
    if (event.kind == EventKind::kBrakeReleased) braked_until_ = event.at;
    const bool act = event.kind == EventKind::kTaskRetry || event.kind == EventKind::kTaskRedriven;
    if (act && event.run) acted_at_[*event.run] = event.at;
    if (event.kind == EventKind::kWorkerDeleted) forgotten_at_[event.worker] = event.at;
    if (event.worker.empty()) return;
    const ToldWorker* worker = told().worker(event.worker);
    if (worker == nullptr) return;
    const bool well = worker->standing == Standing::kActive && !worker->suspect &&
                      worker->cordoned && !*worker->cordoned;
    if (well) {
      well_since_.try_emplace(event.worker, event.at);
    } else {
      well_since_.erase(event.worker);
    }
    last_ = event.at;
  }

  void committed(const Picture&, const Committed& commit) override { last_ = commit.term_now; }
  // Whoever is well by the rows is so for a new leader from its first moment on.
  void term_began(const Picture&) override { term_began_ = braked_until_ = last_; }

  std::map<WorkerId, Instant> well_since_;
  std::map<WorkerId, Instant> forgotten_at_;
  std::map<RunId, Instant> acted_at_;  // by operators
  Instant braked_until_;
  Instant last_;
  Instant term_began_;
};

}  // namespace

void add_placement_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<PlacedRight>(tools));
  list.push_back(std::make_unique<KeepsAway>(tools));
}

}  // namespace vortex::sim
