#pragma once
// Expressions with values: texts of a command become what the process is given.
//
// Typed: a text is taken as it is, numbers and booleans plain, lists and objects as compact JSON.
// What is missing or null is an error unless the expression has a default. Pure and bounded: a
// result has at most kArgumentBytesMax bytes. Values are for one thread at a time.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codec/document.h"
#include "model/expression.h"
#include "model/plan.h"
#include "model/sync.h"

namespace vortex::codec {

// What paths can lead to. The texts it views must outlive it.
class Values {
 public:
  struct Facts {
    std::string_view params;  // JSON; empty: none
    std::string_view inputs;  // JSON; empty: none
    const MapItem* map = nullptr;
    std::string_view run_id;
    std::string_view dag;
    std::string_view task;
    std::uint32_t attempt = 1;
    std::optional<RunResult> run_result = {};
    Instant slot = kNever;      // kNever: no schedule has started the run
    Instant slot_end = kNever;  // kNever: there is no slot after it
  };
  explicit Values(const Facts& facts) : facts_(facts) {}

  const Facts& facts() const { return facts_; }
  // Another task of the same node in the same run: only its item is parsed anew.
  void next_task(const MapItem* map, std::uint32_t attempt) {
    facts_.map = map;
    facts_.attempt = attempt;
    item_ = {};
  }
  // Parsed when first asked for; null: there is none, or it is not JSON.
  const Document* params() { return parsed(params_, facts_.params); }
  const Document* inputs() { return parsed(inputs_, facts_.inputs); }
  const Document* item();

 private:
  struct Part {
    std::unique_ptr<Document> document;
    bool tried = false;
  };
  static const Document* parsed(Part& part, std::string_view json);

  Facts facts_;
  Part params_;
  Part inputs_;
  Part item_;
};

// The error says which expression has no value, and why.
std::expected<std::string, std::string> render(const Template& tmpl, Values& values);

// The commands of assignments as their workers start them: every expression replaced by its value.
//
// Done by the controller, when an answer is about to leave: a worker evaluates nothing, and is sent
// no params, and outputs of other tasks only for a node that asks for them (`inputs`). What is
// parsed for one task of a node serves the next ones in the same answer. Does not touch the store
// itself; one thread at a time.

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
  // For PlannedWork::inputs, of what was resolved last: what all its expressions read of outputs.
  std::shared_ptr<const std::string> inputs() const;

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

// What a node that is no map reads of the outputs of a map: for each output that its expressions
// name, the list of the items' values in their order, null where there is none. Bounded.
class Reduction {
 public:
  static constexpr std::size_t kBytesMax = 16 * 1024 * 1024;

  Reduction(const DagPlan& plan, std::uint32_t node, std::uint32_t from);

  // The outputs of an item, as a JSON object, by growing positions. False: it is too much.
  bool add(std::uint32_t position, std::string_view outputs);
  // One JSON object for all `items` items, as if a single task had written it.
  std::string take(std::uint32_t items);

 private:
  void pad(std::uint32_t items);

  std::vector<std::string> names_;
  std::vector<std::string> lists_;  // by name, without the brackets
  std::uint32_t next_ = 0;
  std::size_t bytes_ = 0;
};

// Outputs of the tasks that the node's expressions read, as one JSON object; empty: none.
std::string gather_inputs(const DagPlan& plan, std::uint32_t node, const OutputsOf& outputs_of);

}  // namespace vortex::codec
