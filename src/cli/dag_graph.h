#pragma once
// A DAG as a drawing: indented text, Mermaid, or DOT.
//
// Pure functions over the checked plan, whose names need no escaping. Nodes are numbered, so that
// the same plan always gives the same drawing.

#include <string>

#include "cli/color.h"
#include "model/plan.h"

namespace vortex::cli {

// One line a task, by levels, with what it needs.
std::string graph_text(const DagPlan& plan, const Look& look);
std::string graph_mermaid(const DagPlan& plan);
std::string graph_dot(const DagPlan& plan);

}  // namespace vortex::cli
