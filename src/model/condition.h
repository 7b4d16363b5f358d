#pragma once
// Conditions, the `if:` of tasks: parsed once, checked for their types, decided without I/O.
//
// Typed: there is no truth but true and false, and different types are never equal by accident.
// Reads params, outputs of earlier tasks and how these ended; no side effects, no loops, and all of
// it is bounded. Pure functions. In files of users: append-only.
//
//   condition    and { "or" and }
//   and          not { "and" not }
//   not          { "not" } comparison
//   comparison   operand [ ( == != < <= > >= in "not in" ) operand ]
//   operand      term { "??" term }              the first that is there and not null
//   term         "text" 'text' 12 -1.5 true false null  params.NAME  tasks.NAME.outputs.KEY
//                [ operand, ... ]   ( condition )
//                contains(operand, operand)  starts_with(operand, operand)
//                succeeded(TASK)  failed(TASK)  skipped(TASK)  run.result

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/expression.h"
#include "model/value.h"

namespace vortex {

struct Condition {
  enum class Kind : std::uint8_t {
    kLiteral,
    kPath,
    kList,
    kDefault,  // of parts: the first that is there
    kOr,
    kAnd,
    kNot,
    kEqual,
    kUnequal,
    kLess,
    kLessOrEqual,
    kMore,
    kMoreOrEqual,
    kIn,
    kContains,
    kStartsWith,
    kRunResult,
    kSucceeded,  // path.name: the task; the same for the next two
    kFailed,
    kSkipped,
  };
  Kind kind = Kind::kLiteral;
  std::size_t offset = 0;  // in the text
  Value literal;
  Path path;
  std::uint32_t reads = 0;  // kPath: which of the values; kSucceeded and so on: which node
  std::vector<Condition> parts;
};

std::expected<Condition, TemplateFault> parse_condition(std::string_view text);

// Every part of it that is a path or asks how a task ended, in the order of the text.
std::vector<Condition*> reads_of(Condition& condition);

// What it costs to decide: how many parts there are, and how many of them may search a long string.
struct ConditionCost {
  std::size_t terms = 0;
  std::size_t searches = 0;
};
ConditionCost cost_of(const Condition& condition);
inline bool is_ending(Condition::Kind kind) { return kind >= Condition::Kind::kSucceeded; }

// What can be known of the types before there are values. kMissing: not known.
using TypeOf = std::function<Value::Kind(const Path&)>;
std::optional<TemplateFault> find_wrong_type(const Condition& condition, const TypeOf& type_of);

enum class TaskEnd : std::uint8_t { kSucceeded, kFailed, kSkipped };

// A value that conditions read. What is in a list or an object is asked of its items.
struct ReadValue {
  Value value;
  std::shared_ptr<const ItemSet> items = {};  // of a list or an object; never null then

  ReadValue() = default;
  explicit ReadValue(Value read);
  std::size_t bytes() const { return value.text.size() + (items ? items->bytes() : 0); }
  friend bool operator==(const ReadValue& a, const ReadValue& b) { return a.value == b.value; }
};

struct ConditionFacts {
  std::span<const ReadValue> values;               // by Condition::reads
  std::function<TaskEnd(std::uint32_t)> ended_as;  // by node; asked only of what has ended
  ReadValue run_result = {};                       // of conditions in `finally`
};

// The error says what cannot be evaluated, and why.
std::expected<bool, std::string> decide(const Condition& condition, const ConditionFacts& facts);

// What it read, for people: "params.env is 'dev'", "'build' failed"; not all of many.
std::vector<std::string> describe(const Condition& condition, const ConditionFacts& facts);

}  // namespace vortex
