#pragma once
// The commands of assignments as their workers start them: every expression replaced by its value.
//
// Done by the controller, when an answer is about to leave: a worker evaluates nothing, and is sent
// neither params nor outputs of other tasks. What is parsed for one task of a node serves the next
// ones in the same answer. Does not touch the store itself; one thread at a time.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "codec/render.h"
#include "model/plan.h"
#include "model/sync.h"

namespace vortex::codec {

using CommandPtr = std::shared_ptr<const CommandLine>;

// Gives the outputs of a node's task as a JSON object; unset or empty: it has none.
using OutputsOf = std::function<std::optional<std::string>(std::uint32_t node)>;

// Whether a command of this node must be resolved at all.
bool has_expressions(const DagPlan& plan, std::uint32_t node);

class CommandResolver {
 public:
  // For PlannedWork::command; null: nothing is to be replaced. The error is fit to be the message
  // of an attempt that could not start. `outputs_of` is asked only for what the expressions read,
  // once for all tasks of a node that follow each other.
  std::expected<CommandPtr, std::string> resolve(const Assignment& assignment,
                                                 const OutputsOf& outputs_of);

 private:
  Values& values_for(const PlannedWork& work, const Assignment& assignment,
                     const OutputsOf& outputs_of);

  PlanPtr plan_;
  std::uint32_t node_ = 0;
  RunId run_;
  std::shared_ptr<const RunRequest> request_;
  std::string run_text_;
  std::string inputs_;
  std::optional<MapItem> map_;
  std::optional<Values> values_;
};

// Outputs of the tasks that the node's expressions read, as one JSON object; empty: none.
std::string gather_inputs(const DagPlan& plan, std::uint32_t node, const OutputsOf& outputs_of);

}  // namespace vortex::codec
