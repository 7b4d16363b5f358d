#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 21: what is shown is true: machines, workers and levels agree with the rows, so the reconciler
// finds nothing to repair. Faults are no excuse: each commit is whole.
class StatusTrue : public CommitChecker {
 public:
  explicit StatusTrue(const CheckerTools& tools) : CommitChecker("21-status-true", tools) {}

  void committed(const Picture& picture, const Committed& commit) override {
    for (const MachineId& id : picture.holdings().touched_machines()) check_machine(picture, id);
    for (const auto& change : picture.machines().changes())
      check_machine(picture, change.after->id);
    for (const Holder& holder : picture.holdings().touched_holders()) check_worker(picture, holder);
    for (const auto& change : picture.runs().changes()) check_levels(picture, change);
    check_repairs(commit);
  }

 private:
  void check_machine(const Picture& picture, const MachineId& id) {
    const MachineRow* row = picture.machines().find(id);
    const bool shown = row != nullptr && row->online;
    const std::uint32_t present = picture.holdings().present_on(id);
    if (shown == (present > 0)) return;
    violated("machine '{}' is shown {} with {} workers present", id.text,
             shown ? "online" : "offline", present);
  }

  void check_worker(const Picture& picture, const Holder& holder) {
    const WorkerRow* row = picture.workers().find(holder.worker);
    if (row == nullptr || row->incarnation != holder.incarnation) return;
    const std::uint32_t held = picture.holdings().load_of(holder).held;
    const bool wrong = (row->state == WorkerState::kIdle && held > 0) ||
                       (row->state == WorkerState::kRunning && held == 0);
    if (wrong) violated("{} is shown {} with {} tasks", say(holder), to_text(row->state), held);
  }

  void check_levels(const Picture& picture, const RowChange<RunRow>& change) {
    const RunRow& run = *change.after;
    const RunNodes* nodes = picture.nodes(run.id);
    if (nodes == nullptr || run.ending != RunEnding::kNone) return;
    if (run.finally_ending != RunEnding::kNone) return;
    std::uint32_t level = change.before ? change.before->levels_passed : 0;
    for (; level < run.levels_passed && level < nodes->plan().levels; ++level) {
      if (!nodes->level_done(level)) {
        violated("level {} of run {} is shown passed with open tasks", level, to_text(run.id));
      }
    }
  }

  void check_repairs(const Committed& commit) {
    for (const Event& event : commit.events) {
      if (event.kind == EventKind::kStateReconcileFix) {
        violated("the reconciler found something to repair (event {})", event.seq);
      }
    }
  }
};

}  // namespace

void add_status_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<StatusTrue>(tools));
}

}  // namespace vortex::sim
