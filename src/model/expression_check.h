#pragma once
// What can be said against the expressions of a DAG before any of them has a value.
//
// Faults are found at submit instead of hours later on a worker: syntax, unknown params and tasks,
// outputs that are not declared, items outside of a map, conditions of the wrong type, expressions
// where a shell would read their values as code. Bounded work whatever the DAG. Pure functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/plan.h"

namespace vortex {

struct ExpressionFault {
  std::uint32_t node = 0;           // index into DagSpec::nodes; one more: the DAG's outputs
  std::vector<std::string> member;  // {"run", "2"}, {"env", "DIR"}, {"if"}, {"map", "over"}
  std::size_t offset = 0;           // in that text
  std::string message;
  std::string help;
};

// An expression, the condition or the map of `node` reads outputs of `from`.
struct OutputUse {
  std::uint32_t node = 0;
  std::uint32_t from = 0;
  std::vector<std::string> member;
  std::size_t offset = 0;
  bool by_core = false;  // by the condition, which may also ask how `from` ended, or the map
};

struct ExpressionScan {
  std::vector<ExpressionFault> faults;  // by node
  std::vector<OutputUse> uses;          // by node
};

// Everything but the graph, up to that many faults. Names of nodes may be wrong or repeated.
ExpressionScan scan_expressions(const DagSpec& spec, std::size_t faults_max);

// Uses of nodes that are not needed, directly or through others: nothing says that they have
// ended. Precondition: the plan's nodes are linked and have their levels.
std::vector<ExpressionFault> find_unneeded(const PlanBase& plan, const std::vector<OutputUse>& uses,
                                           std::size_t faults_max);

DagError to_dag_error(const DagSpec& spec, ExpressionFault fault);

}  // namespace vortex
