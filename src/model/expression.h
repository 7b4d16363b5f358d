#pragma once
// Texts with expressions in them, `${{ params.dir ?? "/srv" }}`, taken apart but not evaluated.
//
// Expressions only read: params of the run, the item of a map, outputs of earlier tasks and a few
// facts about the attempt. No side effects, no loops, and everything is bounded, so parsing and
// rendering always end soon. codec/render.h gives them values. Pure functions. In files of users:
// append-only.
//
//   expression   term { "??" term }              the first that is there and not null
//   term         "text" 'text' 12 -1.5 true false null, a path, json(expression),
//                join(expression, expression)
//   path         params.NAME  map.NAME  map.index  matrix.KEY  tasks.NAME.outputs
//                run.id  run.dag  run.result  run.slot  run.slot_end  task.name  task.attempt
//                the first four and outputs with any number of .KEY ["KEY"] [0] behind them
//
// `$${{` stands for `${{` as it is.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vortex {

inline constexpr std::size_t kExpressionsMax = 64;         // in one text
inline constexpr std::size_t kExpressionBytesMax = 4'096;  // of one, with its braces
inline constexpr std::size_t kExpressionDepthMax = 16;
inline constexpr std::size_t kPathStepsMax = 16;
inline constexpr std::string_view kExpressionOpen = "${{";

// Where a path begins.
enum class PathRoot : std::uint8_t {
  kParam,    // name: of the param
  kItem,     // name: what the map calls its item
  kIndex,    // the number of the task within its map
  kOutputs,  // name: of the task
  kRunId,
  kRunSlot,     // of a run that a schedule has started for it
  kRunSlotEnd,  // the slot after it
  kDagName,
  kTaskName,
  kAttempt,
  kRunResult,  // how the run ended; only in `finally`
};

using PathStep = std::variant<std::string, std::uint32_t>;  // a key or an index

struct Path {
  PathRoot root = PathRoot::kParam;
  std::string name;
  std::vector<PathStep> steps;
  std::string shown;       // as it was written
  std::size_t offset = 0;  // in the text
  std::uint32_t slot = 0;  // for those who keep what it leads to
};

struct Expression {
  enum class Kind : std::uint8_t {
    kText,
    kNumber,  // as it was written
    kBoolean,
    kNull,
    kPath,
    kDefault,  // of parts: the first that is there
    kJson,     // of one part
    kJoin,     // of a list and what goes between
  };
  Kind kind = Kind::kNull;
  std::string text;
  Path path;
  std::vector<Expression> parts;
};

// Text and expressions by turns: texts[0] expressions[0] texts[1] ... texts[n].
struct Template {
  std::vector<std::string> texts;
  std::vector<Expression> expressions;
};

struct TemplateFault {
  std::size_t offset = 0;
  std::string message;
  std::string help;
};

std::expected<Template, TemplateFault> parse_template(std::string_view text);

// False: the text is what it is, and parse_template has nothing to find.
inline bool has_expression_mark(std::string_view text) {
  return text.find(kExpressionOpen) != std::string_view::npos;
}

// What a map goes over: a text that is one expression, which is one path to a param or an output.
std::expected<Path, TemplateFault> path_of_map(std::string_view text);

// Every path in it, in the order of the text. Valid as long as the template.
std::vector<const Path*> references(const Template& tmpl);
std::vector<Path*> references(Template& tmpl);

}  // namespace vortex
