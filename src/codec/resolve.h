#pragma once
// The command of one attempt as its worker starts it: every expression replaced by its value.
//
// The worker resolves from the order alone; the controller only adds the outputs of earlier tasks
// that the order's expressions read. Pure functions.

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "model/plan.h"
#include "model/work_order.h"

namespace vortex::codec {

// For the worker. The error is fit to be the message of a task that could not start.
std::expected<CommandLine, std::string> resolve_command(const WorkOrder& order,
                                                        std::uint32_t attempt);

// For the controller: the text for PlannedWork::inputs, empty where nothing is read. `outputs_of`
// gives the outputs of a node's task as a JSON object; unset or empty: it has none.
using OutputsOf = std::function<std::optional<std::string>(std::uint32_t node)>;
std::string gather_inputs(const DagPlan& plan, std::uint32_t node, const OutputsOf& outputs_of);

}  // namespace vortex::codec
