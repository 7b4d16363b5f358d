#pragma once
// A checked DAG, ready to run: names resolved to indexes, levels computed, tasks numbered.
//
// Immutable. `compile` refuses what cannot run, naming the node, and never asserts on input. What
// it makes is shared by all runs of the DAG. A late map (one over an expression) has no tasks in
// it: once its items are known, the run goes on with a plan of its own that is laid out for them
// and shares everything else. Tasks of node n have the indexes first_task(n) .. first_task(n) +
// tasks_of(n) - 1; those of late maps follow all others.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/condition.h"
#include "model/dag.h"
#include "model/expression.h"

namespace vortex {

struct DagPlan;
using PlanPtr = std::shared_ptr<const DagPlan>;

struct DagLimits {
  std::uint32_t nodes_max = 100'000;
  std::uint32_t tasks_max = 1'000'000;
  std::uint32_t depth_max = 10'000;
  std::uint32_t needs_max = 1'000'000;            // edges in all
  std::uint32_t condition_terms_max = 500'000;    // values and operators, in all conditions
  std::uint32_t condition_searches_max = 20'000;  // calls of contains(), in all conditions
  std::uint32_t late_maps_max = 1'000;            // maps over expressions
  const ZoneSource* zones = nullptr;  // where a time zone must be found; null: it is not looked up
};

// A value that the core reads, for conditions and late maps: a param, or an output of a node.
struct ValueRead {
  std::optional<std::uint32_t> node;  // unset: a param
  Steps steps;                        // of a param: its name first
  friend auto operator<=>(const ValueRead&, const ValueRead&) = default;
};

// Which of the reads of one kind are those of a node.
struct ReadSpan {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct NodeCondition {
  Condition condition;
  std::vector<std::uint32_t> nodes;  // that it refers to, lowest first; all are needed
};

// What a child is given under one name.
struct ChildParam {
  std::string name;
  Value value;                   // without a text
  std::optional<Template> text;  // Path::slot: which of PlanBase::passes
};

struct NodeChild {
  PlanPtr plan;  // null: a stored one that is not known here
  std::vector<ChildParam> params;
};

// An output of the DAG as a whole.
struct RunOutput {
  std::string name;
  Template text;
};

struct PlanNode {
  std::uint32_t spec = 0;   // index into DagSpec::nodes
  std::uint32_t level = 0;  // longest way from a node without needs
  // As the DAG says; of a late map the run decides (DagPlan::first_task).
  std::uint32_t planned_first = 0;
  std::uint32_t planned_tasks = 1;
  std::vector<std::uint32_t> needs;
  std::vector<std::uint32_t> needed_by;
  // Nodes whose outputs its expressions refer to, lowest first; all are needed, if not directly.
  std::vector<std::uint32_t> inputs;
  std::shared_ptr<const NodeCondition> condition;  // null: none
  std::vector<std::uint32_t> readers;              // nodes whose conditions or maps refer to it
  std::uint32_t first_read = 0;                    // of DagPlan::reads: what these want of it
  std::uint32_t reads = 0;
  ReadSpan lists = {};                           // of DagPlan::lists: the same for maps
  std::optional<std::uint32_t> late_map = {};    // its number among the late maps
  std::optional<std::uint32_t> map_source = {};  // of a late map: index into DagPlan::lists
  ReadSpan passes = {};                          // of PlanBase::passes: what is wanted of it
  std::shared_ptr<const NodeChild> child = {};   // null: it is no sub-DAG
};

// What all runs of a DAG share.
struct PlanBase {
  DagSpec spec;
  std::vector<PlanNode> nodes;
  std::vector<std::vector<std::uint32_t>> nodes_by_level;
  // What all conditions together read, each once: params first, then by node.
  std::vector<ValueRead> reads;
  std::uint32_t param_reads = 0;
  // What late maps go over, in the same order.
  std::vector<ValueRead> lists;
  std::uint32_t param_lists = 0;
  std::uint32_t late_maps = 0;
  // What params of children and the outputs of the DAG read, in the same order.
  std::vector<ValueRead> passes;
  std::uint32_t param_passes = 0;
  std::vector<RunOutput> results;
  std::vector<std::string> missing;    // DAGs it refers to that are not known: no run can have it
  std::vector<std::uint32_t> finally;  // nodes that run when all others have ended, lowest first
  std::vector<std::uint32_t> asking;   // nodes that wait for a signal or an approval, lowest first
  Template group_key = {};             // of DagSpec::concurrency
  std::uint32_t levels = 0;
  std::uint32_t tasks = 0;
  std::uint64_t digest = 0;  // of everything in the specification
  std::uint64_t bytes = 0;   // about as many as the specification takes up
};

using MapItems = std::shared_ptr<const std::vector<std::string>>;

// The tasks of a late map in one run.
struct LaidOut {
  std::uint32_t node = 0;
  std::uint32_t first_task = 0;
  std::uint32_t tasks = 0;
  bool failed = false;  // there were no items to be had: one task stands for them, and has failed
  MapItems items = nullptr;  // null: not known here
};

struct DagPlan {
  DagPlan() : DagPlan(std::make_shared<const PlanBase>()) {}
  explicit DagPlan(std::shared_ptr<const PlanBase> shared);

  // Kept alive by `base`.
  std::shared_ptr<const PlanBase> base;
  const DagSpec& spec;
  const std::vector<PlanNode>& nodes;
  const std::vector<std::vector<std::uint32_t>>& nodes_by_level;
  const std::vector<ValueRead>& reads;
  const std::vector<ValueRead>& lists;
  const std::vector<std::uint32_t>& finally;
  const std::vector<std::uint32_t>& asking;
  std::uint32_t param_reads = 0;
  std::uint32_t param_lists = 0;
  std::uint32_t levels = 0;
  std::uint64_t digest = 0;  // of the specification: the same however the plan is laid out
  std::uint64_t bytes = 0;

  std::uint32_t tasks = 0;             // as far as they are known
  std::vector<LaidOut> late;           // in the order in which it happened, so by first_task
  std::vector<std::uint32_t> late_of;  // by number of the late map: its place in `late`, from 1

  const NodeSpec& node_spec(std::uint32_t node) const { return spec.nodes[nodes[node].spec]; }
  // Null: not a late map, or not laid out yet.
  const LaidOut* laid_out(std::uint32_t node) const;
  bool is_late(std::uint32_t node) const { return nodes[node].late_map.has_value(); }
  // Whether the number of its tasks is known.
  bool is_counted(std::uint32_t node) const { return !is_late(node) || laid_out(node) != nullptr; }
  // Of a late map that is not laid out: one that no task has, and 0.
  std::uint32_t first_task(std::uint32_t node) const;
  std::uint32_t tasks_of(std::uint32_t node) const;
  std::uint32_t node_of_task(std::uint32_t task_index) const;
  // Within its map.
  std::uint32_t position_of(std::uint32_t task_index) const;
  // The item of a map for one of its tasks, as the task sees it; empty for plain nodes.
  std::string map_item(std::uint32_t task_index) const;
  // False: a late map whose items are not known here.
  bool has_items(std::uint32_t node) const;
  // Whether the core must know the outputs of this task, because a condition or a map reads them.
  bool is_read(std::uint32_t task_index) const {
    const PlanNode& node = nodes[node_of_task(task_index)];
    return node.reads > 0 || node.lists.count > 0 || node.passes.count > 0;
  }
};

// The nodes whose outputs must go with an order of this node; mostly none. Decided by `compile`.
inline const std::vector<std::uint32_t>& upstream_outputs_needed(const DagPlan& plan,
                                                                 std::uint32_t node) {
  return plan.nodes[node].inputs;
}

// The same with this late map laid out, whose first task it chooses. Precondition: it is not yet,
// and the indexes of its tasks fit 32 bits.
PlanPtr lay_out(const DagPlan& plan, LaidOut map);
// The same with the items of a map that is laid out already.
PlanPtr with_items(const DagPlan& plan, std::uint32_t node, MapItems items);
// The plan that all runs share.
PlanPtr unexpanded(const PlanPtr& plan);

// What was laid out, as numbers: pairs of a node and its number of tasks. In databases and on the
// wire: append-only.
using LateCounts = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kLateFailed = 0xFFFF'FFFF;  // as a number of tasks: LaidOut::failed
inline constexpr std::uint32_t kTaskIndexMax = 1U << 24U;
LateCounts late_counts(const DagPlan& plan);
// How many tasks these are together.
std::uint32_t late_tasks(const LateCounts& counts);
// The plan laid out once more, without items. The error says what no run can have.
std::expected<PlanPtr, std::string> laid_out_again(const PlanPtr& plan, const LateCounts& counts);

struct DagError {
  enum class Kind : std::uint8_t {
    kEmpty,
    kBadName,
    kDuplicateName,
    kUnknownNeed,
    kSelfNeed,
    kDuplicateNeed,
    kCycle,
    kTooManyNodes,
    kTooManyTasks,
    kTooManyNeeds,
    kTooDeep,
    kBadValue,
  };
  Kind kind;
  std::string node;                      // the node concerned, empty for the DAG itself
  std::string detail;                    // what is wrong with it, with the values
  std::vector<std::string> member = {};  // the way to it within the node, where it is known
  std::size_t offset = 0;                // in the member's text
  std::string help = {};                 // what to do; may be empty
  bool in_finally = false;               // the node stands in `finally`, not in `tasks`
  std::string dag = {};                  // the one of DagSpec::dags concerned; empty: none
  std::size_t dag_at = 0;                // its place there
};

std::expected<PlanPtr, DagError> compile(DagSpec spec, const DagLimits& limits);

}  // namespace vortex
