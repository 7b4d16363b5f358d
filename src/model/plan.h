#pragma once
// A checked DAG, ready to run: names resolved to indexes, levels computed, tasks numbered.
//
// Immutable and shared by all runs of it. `compile` refuses what cannot run, naming the node, and
// never asserts on input. Tasks of node n have the indexes first_task .. first_task + tasks - 1.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/condition.h"
#include "model/dag.h"

namespace vortex {

struct DagLimits {
  std::uint32_t nodes_max = 100'000;
  std::uint32_t tasks_max = 1'000'000;
  std::uint32_t depth_max = 10'000;
  std::uint32_t needs_max = 1'000'000;            // edges in all
  std::uint32_t condition_terms_max = 500'000;    // values and operators, in all conditions
  std::uint32_t condition_searches_max = 20'000;  // calls of contains(), in all conditions
  const ZoneSource* zones = nullptr;  // where a time zone must be found; null: it is not looked up
};

// A value that some condition reads: a param, or an output of a node.
struct ConditionRead {
  std::optional<std::uint32_t> node;  // unset: a param
  Steps steps;                        // of a param: its name first
  friend auto operator<=>(const ConditionRead&, const ConditionRead&) = default;
};

struct NodeCondition {
  Condition condition;
  std::vector<std::uint32_t> nodes;  // that it refers to, lowest first; all are needed
};

struct PlanNode {
  std::uint32_t spec = 0;   // index into DagSpec::nodes
  std::uint32_t level = 0;  // longest way from a node without needs
  std::uint32_t first_task = 0;
  std::uint32_t tasks = 1;
  std::vector<std::uint32_t> needs;
  std::vector<std::uint32_t> needed_by;
  // Nodes whose outputs its expressions refer to, lowest first; all are needed, if not directly.
  std::vector<std::uint32_t> inputs;
  std::shared_ptr<const NodeCondition> condition;  // null: none
  std::vector<std::uint32_t> readers;              // nodes whose conditions refer to it
  std::uint32_t first_read = 0;                    // of DagPlan::reads: what these want of it
  std::uint32_t reads = 0;
};

struct DagPlan {
  DagSpec spec;
  std::vector<PlanNode> nodes;
  std::vector<std::vector<std::uint32_t>> nodes_by_level;
  // What all conditions together read, each once: params first, then by node.
  std::vector<ConditionRead> reads;
  std::uint32_t param_reads = 0;
  std::uint32_t levels = 0;
  std::uint32_t tasks = 0;
  std::uint64_t digest = 0;  // of everything in the specification
  std::uint64_t bytes = 0;   // about as many as the specification takes up

  const NodeSpec& node_spec(std::uint32_t node) const { return spec.nodes[nodes[node].spec]; }
  std::uint32_t node_of_task(std::uint32_t task_index) const;
  // The item of a map for one of its tasks, as the task sees it; empty for plain nodes.
  std::string map_item(std::uint32_t task_index) const;
  // Whether the core must know the outputs of this task, because a condition reads them.
  bool is_read(std::uint32_t task_index) const { return nodes[node_of_task(task_index)].reads > 0; }
};

// The nodes whose outputs must go with an order of this node; mostly none. Decided by `compile`.
inline const std::vector<std::uint32_t>& upstream_outputs_needed(const DagPlan& plan,
                                                                 std::uint32_t node) {
  return plan.nodes[node].inputs;
}

using PlanPtr = std::shared_ptr<const DagPlan>;

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
};

std::expected<PlanPtr, DagError> compile(DagSpec spec, const DagLimits& limits);

}  // namespace vortex
