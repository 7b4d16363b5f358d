#pragma once
// One live run: its plan, and per node the counts that make readiness an event instead of a scan.
//
// A map's tasks are made when the map becomes ready, a bounded number per step, and tasks that
// will never run (skipped, cancelled) are only counted. So a run of a million costs no long step.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/state/index.h"
#include "core/state/timers.h"
#include "model/condition.h"
#include "model/plan.h"
#include "model/rows.h"
#include "model/states.h"
#include "model/value.h"

namespace vortex::core {

enum class NodePhase : std::uint8_t {
  kPending,  // waits for its needs
  kGated,    // its needs are met; waits for the levels below (barrier: levels)
  kActive,   // its tasks may run
  kDone,     // every task is final; the outcome is fixed
};

enum class NodeOutcome : std::uint8_t { kSuccess, kFailed, kSkipped, kCancelled };

// What late maps go over, once it is known. Neither: it is not, or there is no such value.
struct ItemList {
  MapItems items;
  std::string wrong;  // why it cannot be gone over
};

struct NodeRun {
  NodePhase phase = NodePhase::kPending;
  NodeOutcome outcome = NodeOutcome::kSuccess;  // once kDone
  bool stopped = false;  // its map passed max_failures: what has not been made never will
  ClassIx cls;
  std::uint32_t created = 0;  // tasks made so far, of PlanNode::tasks
  std::uint32_t finals = 0;   // of the created ones
  std::uint32_t failed = 0;   // of the finals
  std::uint32_t cancelled = 0;
  std::uint32_t skipped = 0;
  std::uint32_t in_play = 0;  // ready or held: what max_parallel bounds
  TaskList parked;            // beyond max_parallel
  // How the nodes it needs have ended so far.
  std::uint32_t needs_done = 0;
  std::uint32_t needs_ok = 0;
  std::uint32_t needs_failed = 0;
  std::uint32_t needs_skipped = 0;
};

struct Run {
  RunId id;
  PlanPtr plan;  // laid out for the late maps that have begun
  std::shared_ptr<const RunRequest> request;
  RunState state = RunState::kRunning;
  RunEnding ending = RunEnding::kNone;
  RunEnding finally_ending = RunEnding::kNone;  // the same for its `finally` tasks alone
  bool paused = false;
  bool waits_for_turn = false;  // its group is full: nothing of it has started
  std::string reason;           // why another run ended it
  bool paused_above = false;    // a run that it is a child of is paused, directly or not
  std::int8_t priority = 0;     // of the tasks that it is a child of, added to that of its own
  bool dirty = false;
  Instant created_at;
  Judged timeout_at = kJudgedNever;
  Instant starts_at = kNever;  // nothing of it starts before; kNever: it has begun
  std::vector<NodeRun> nodes;
  std::vector<TaskIx> tasks;              // by index in the plan; none: not made yet
  std::vector<std::uint32_t> level_open;  // nodes not yet done, by level
  std::uint32_t levels_passed = 0;        // all nodes of the levels below this are done
  std::uint32_t levels_known = 0;         // levels below this were announced as complete
  std::uint32_t nodes_open = 0;
  std::uint32_t ordinary_open = 0;          // of these, the ones that `finally` tasks wait for
  std::vector<std::uint32_t> gated;         // nodes in phase kGated
  std::vector<std::uint32_t> stopped_maps;  // at too many failures; not those skipped as a whole
  std::uint32_t held = 0;                   // tasks on workers
  bool any_failed = false;                  // of the nodes that `finally` tasks wait for
  bool finally_failed = false;              // of the others
  std::uint64_t changes = 0;     // grows with every change that a check in parts could trip over
  TaskCounts made{};             // tasks that have been made, by state
  std::vector<ReadValue> reads;  // what conditions read, by DagPlan::reads; missing: not known
  std::vector<ItemList> lists;   // by DagPlan::lists
  std::vector<Value> passed;     // by PlanBase::passes: for children, and for its outputs
  std::set<RunId> children;      // live runs that tasks of it wait for
  std::uint64_t reads_bytes = 0;
  TaskList parked;                 // ready tasks that wait for a resume
  std::vector<SignalRow> signals;  // what it was told from outside, by number

  // Bulk work, done in slices: nodes whose tasks are still being made, and the sweep over all
  // tasks after a cancel, pause or resume.
  std::deque<std::uint32_t> expanding;
  std::uint32_t sweep_next = 0;
  bool sweeping = false;
  bool in_bulk = false;
};

// Runs by position and by id. No way to walk it by id order is needed, and none is offered.
class RunTable {
 public:
  RunIx add(RunId id);
  void remove(RunIx ix);
  RunIx find(RunId id) const;

  Run& operator[](RunIx ix) { return *slots_[ix.value]; }
  const Run& operator[](RunIx ix) const { return *slots_[ix.value]; }
  std::size_t size() const { return live_; }
  std::size_t slots() const { return slots_.size(); }
  const Run* at_slot(std::size_t slot) const { return slots_[slot].get(); }

 private:
  // Ids are handed out in order, so pages of neighbours stay dense and the map of pages small.
  static constexpr std::uint64_t kPage = 256;
  struct Page {
    std::array<RunIx, kPage> runs;
    std::uint32_t used = 0;
  };

  std::vector<std::unique_ptr<Run>> slots_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
  // Where the last one was found: what is asked for next is mostly near.
  mutable std::uint64_t near_ = 0;
  mutable const Page* near_page_ = nullptr;
  std::size_t live_ = 0;
};

}  // namespace vortex::core
