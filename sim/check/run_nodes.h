#pragma once
// How the nodes of one run stand, judged from its plan and the rows of its tasks alone.
//
// A node without a single row ends skipped when its needs can no longer be met: tasks that will
// never run are never made. An end can be taken back: an operator runs a failed task again.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/plan.h"
#include "model/rows.h"
#include "sim/check/condition_says.h"

namespace vortex::sim {

enum class NodeEnd : std::uint8_t { kSuccess, kFailed, kSkipped, kCancelled };

struct NodeStanding {
  std::uint32_t made = 0;  // tasks with a row
  std::uint32_t completed = 0;
  std::uint32_t failed = 0;
  std::uint32_t cancelled = 0;
  std::uint32_t skipped = 0;
  std::uint32_t held = 0;
  // How the nodes it needs have ended. A cancelled need counts as failed.
  std::uint32_t needs_done = 0;
  std::uint32_t needs_ok = 0;
  std::uint32_t needs_failed = 0;
  std::uint32_t needs_skipped = 0;
  std::optional<NodeEnd> end;

  std::uint32_t finals() const { return completed + failed + cancelled + skipped; }
};

class RunNodes {
 public:
  explicit RunNodes(PlanPtr plan);

  // One row of a task of this run changed; `before` is null for its first row.
  void count(const TaskRow* before, const TaskRow& after);

  // What a task completed with, and which maps the run's row calls stopped.
  void note_outputs(std::uint32_t task_index, const std::string& outputs);
  void note_run(const RunRow& run);

  const DagPlan& plan() const { return *plan_; }
  // Spoils the run: failed, and not allowed to, or cancelled.
  bool spoils(std::uint32_t node) const {
    const auto& end = nodes_[node].end;
    if (!end) return false;
    const NodeEnd as = counted(node, *end);
    return as == NodeEnd::kFailed || as == NodeEnd::kCancelled;
  }
  const NodeStanding& node(std::uint32_t node) const { return nodes_[node]; }
  bool needs_met(std::uint32_t node) const;
  bool needs_lost(std::uint32_t node) const;  // can no longer be met
  // More failures than the map bears, or a condition without a value.
  bool map_stopped(std::uint32_t node) const;
  // What its condition says; kYes if it has none.
  ConditionSays says(std::uint32_t node) const;
  // How many tasks it has; unset: a map whose items are not known yet.
  std::optional<std::uint32_t> wanted(std::uint32_t node) const;
  bool is_late(std::uint32_t node) const;  // a map made at run time
  bool levels_below_done(std::uint32_t level) const;
  bool level_done(std::uint32_t level) const { return level_open_[level] == 0; }
  std::uint32_t nodes_open() const { return nodes_open_; }
  std::uint32_t tasks_open() const { return tasks_open_; }  // of those made

 private:
  void tally(const TaskRow& row, std::uint32_t one);
  std::optional<NodeEnd> judge(std::uint32_t node) const;
  bool fell_at_condition(std::uint32_t node) const;
  void settle(std::uint32_t node);
  NodeEnd counted(std::uint32_t node, NodeEnd end) const;
  void set_end(std::uint32_t node, std::optional<NodeEnd> end);
  void count_need(std::uint32_t node, NodeEnd end, std::uint32_t one);

  PlanPtr plan_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::map<std::uint32_t, std::int64_t> values_;  // output v, by node
  std::optional<std::int64_t> param_;             // params.n
  std::set<std::uint32_t> stopped_;
  std::map<std::uint32_t, std::uint32_t> late_;  // tasks of maps made at run time, by node
  bool known_ = false;                           // its row has been seen
  std::vector<NodeStanding> nodes_;
  std::vector<std::uint32_t> level_open_;  // nodes that have not ended, by level
  std::uint32_t nodes_open_ = 0;
  std::uint32_t tasks_open_ = 0;
};

}  // namespace vortex::sim
