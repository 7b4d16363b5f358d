#include "model/condition.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "model/check.h"
#include "model/expression_scan.h"

namespace vortex {
namespace {

using ConditionKind = Condition::Kind;
using ParsedCondition = std::expected<Condition, TemplateFault>;
using Type = Value::Kind;

struct Operator {
  std::string_view text;
  ConditionKind kind;
};
// Longer ones first: `<=` begins like `<`.
constexpr std::array<Operator, 6> kOperators{{{"==", ConditionKind::kEqual},
                                              {"!=", ConditionKind::kUnequal},
                                              {"<=", ConditionKind::kLessOrEqual},
                                              {">=", ConditionKind::kMoreOrEqual},
                                              {"<", ConditionKind::kLess},
                                              {">", ConditionKind::kMore}}};

constexpr std::array<Operator, 5> kConditionFunctions{{{"contains", ConditionKind::kContains},
                                                       {"starts_with", ConditionKind::kStartsWith},
                                                       {"succeeded", ConditionKind::kSucceeded},
                                                       {"failed", ConditionKind::kFailed},
                                                       {"skipped", ConditionKind::kSkipped}}};

constexpr const char* kFunctionsHelp =
    "available functions: contains(list, value), starts_with(text, start), succeeded(task), "
    "failed(task) and skipped(task)";

Condition join_parts(ConditionKind kind, std::size_t offset, Condition first, Condition second) {
  Condition out;
  out.kind = kind;
  out.offset = offset;
  out.parts.push_back(std::move(first));
  out.parts.push_back(std::move(second));
  return out;
}

Condition negated(std::size_t offset, Condition what) {
  Condition out;
  out.kind = ConditionKind::kNot;
  out.offset = offset;
  out.parts.push_back(std::move(what));
  return out;
}

class ConditionParser {
 public:
  explicit ConditionParser(ExpressionScanner& scan) : scan_(scan) {}

  ParsedCondition condition() { return chain(ConditionKind::kOr); }

 private:
  std::unexpected<TemplateFault> fault(std::string message, std::string help = {}) const {
    return std::unexpected(TemplateFault{scan_.at(), std::move(message), std::move(help)});
  }

  // The word stands here by itself; it is taken.
  bool take_word(std::string_view word) {
    scan_.skip_space();
    const std::size_t begin = scan_.at();
    if (scan_.take_name() == word) return true;
    scan_.move_to(begin);
    return false;
  }

  // "or" of "and"s, or "and" of comparisons.
  ParsedCondition chain(ConditionKind kind) {
    const bool any = kind == ConditionKind::kOr;
    const auto next = [this, any] { return any ? chain(ConditionKind::kAnd) : negation(); };
    if (any && ++depth_ > kExpressionDepthMax) return fault("the condition is too deeply nested");
    scan_.skip_space();
    const std::size_t begin = scan_.at();
    ParsedCondition first = next();
    if (!first) return first;
    Condition out;
    out.kind = kind;
    out.offset = begin;
    out.parts.push_back(*std::move(first));
    while (take_word(any ? "or" : "and")) {
      ParsedCondition more = next();
      if (!more) return more;
      out.parts.push_back(*std::move(more));
    }
    if (any) --depth_;
    if (out.parts.size() > 1) return out;
    Condition alone = std::move(out.parts.front());
    return alone;
  }

  ParsedCondition negation() {
    bool no = false;
    scan_.skip_space();
    const std::size_t begin = scan_.at();
    while (take_word("not")) no = !no;
    ParsedCondition what = comparison();
    if (!what || !no) return what;
    return negated(begin, *std::move(what));
  }

  ParsedCondition comparison() {
    ParsedCondition left = operand();
    if (!left) return left;
    scan_.skip_space();
    const std::size_t at = scan_.at();
    for (const Operator& one : kOperators) {
      if (!scan_.take(one.text)) continue;
      ParsedCondition right = operand();
      if (!right) return right;
      return join_parts(one.kind, at, *std::move(left), *std::move(right));
    }
    const bool no = take_word("not");
    if (!take_word("in")) return no ? fault("'in' is missing after 'not'") : left_alone(left);
    ParsedCondition right = operand();
    if (!right) return right;
    Condition in = join_parts(ConditionKind::kIn, at, *std::move(left), *std::move(right));
    if (no) return negated(at, std::move(in));
    return in;
  }

  // What other languages write between two values is a function here, or has another name.
  ParsedCondition left_alone(ParsedCondition& left) {
    const std::size_t at = scan_.at();
    if (scan_.starts_with("&&")) return fault("unexpected '&&'", "write and");
    if (scan_.starts_with("||")) return fault("unexpected '||'", "write or");
    if (scan_.starts_with("=")) return fault("unexpected '='", "write == to compare");
    const std::string_view word = scan_.take_name();
    scan_.move_to(at);
    if (word == "contains") return fault("'contains' is a function", "write contains(list, value)");
    if (word == "starts_with") {
      return fault("'starts_with' is a function", "write starts_with(text, start)");
    }
    return std::move(left);
  }

  ParsedCondition operand() {
    ParsedCondition first = term();
    if (!first) return first;
    scan_.skip_space();
    if (!scan_.starts_with("??")) return first;
    Condition out;
    out.kind = ConditionKind::kDefault;
    out.offset = first->offset;
    out.parts.push_back(*std::move(first));
    while (scan_.take("??")) {
      ParsedCondition next = term();
      if (!next) return next;
      out.parts.push_back(*std::move(next));
      scan_.skip_space();
    }
    return out;
  }

  ParsedCondition term() {
    scan_.skip_space();
    const std::size_t begin = scan_.at();
    const char next = scan_.peek();
    if (next == '"' || next == '\'') {
      auto text = scan_.take_quoted();
      if (!text) return std::unexpected(std::move(text).error());
      return literal(begin, {Type::kText, *std::move(text)});
    }
    if (next == '-' || (next >= '0' && next <= '9')) {
      auto text = scan_.take_number();
      if (!text) return std::unexpected(std::move(text).error());
      return literal(begin, {Type::kNumber, *std::move(text)});
    }
    if (next == '(') return in_parentheses();
    if (next == '[') return list(begin);
    if (is_path_char(next)) return named(begin);
    if (next == '!') return fault("unexpected '!'", "write not");
    return fault(scan_.at_end() ? "the condition is incomplete here"
                                : fmt::format("unexpected {}", scan_.shown_here()),
                 "write a path such as params.env, a string in quotes, or a number");
  }

  static Condition literal(std::size_t begin, Value value) {
    Condition out;
    out.offset = begin;
    out.literal = std::move(value);
    return out;
  }

  ParsedCondition in_parentheses() {
    scan_.take("(");
    ParsedCondition inner = condition();
    if (!inner) return inner;
    scan_.skip_space();
    if (!scan_.take(")")) return fault("a ')' is missing here");
    return inner;
  }

  ParsedCondition list(std::size_t begin) {
    if (++depth_ > kExpressionDepthMax) return fault("the condition is too deeply nested");
    scan_.take("[");
    Condition out;
    out.kind = ConditionKind::kList;
    out.offset = begin;
    scan_.skip_space();
    while (!scan_.take("]")) {
      if (!out.parts.empty() && !scan_.take(",")) return fault("a ',' or ']' is missing here");
      ParsedCondition item = operand();
      if (!item) return item;
      out.parts.push_back(*std::move(item));
      scan_.skip_space();
    }
    --depth_;
    return out;
  }

  ParsedCondition named(std::size_t begin) {
    const std::string word(scan_.take_name());
    if (word == "true" || word == "false") return literal(begin, {Type::kBoolean, word});
    if (word == "null") return literal(begin, {Type::kNull, word});
    const std::size_t end = scan_.at();
    scan_.skip_space();
    if (scan_.peek() == '(') return call(word, begin);
    scan_.move_to(end);
    if (word == "not" || word == "and" || word == "or" || word == "in") {
      scan_.move_to(begin);
      return fault(fmt::format("a value is missing before '{}'", word));
    }
    auto path = take_path(scan_, word, begin);
    if (!path) return std::unexpected(std::move(path).error());
    Condition out;
    const bool result = path->root == PathRoot::kRunResult;
    out.kind = result ? ConditionKind::kRunResult : ConditionKind::kPath;
    out.offset = begin;
    out.path = *std::move(path);
    return out;
  }

  ParsedCondition call(const std::string& name, std::size_t begin) {
    std::vector<std::string_view> known;
    for (const Operator& function : kConditionFunctions) {
      known.push_back(function.text);
      if (function.text != name) continue;
      scan_.take("(");
      return is_ending(function.kind) ? ending(function, begin) : pair(function, begin);
    }
    const auto near = nearest_name(name, known);
    return std::unexpected(TemplateFault{
        begin, fmt::format("unknown function {}", in_quotes(name)),
        near.empty() ? kFunctionsHelp : fmt::format("did you mean {}?", in_quotes(near))});
  }

  ParsedCondition ending(const Operator& function, std::size_t begin) {
    const std::string help = fmt::format("write {}(TASK)", function.text);
    scan_.skip_space();
    Condition out;
    out.kind = function.kind;
    out.offset = begin;
    out.path.root = PathRoot::kOutputs;
    out.path.offset = scan_.at();
    const char next = scan_.peek();
    if (next == '"' || next == '\'') {
      auto name = scan_.take_quoted();
      if (!name) return std::unexpected(std::move(name).error());
      out.path.name = *std::move(name);
    } else {
      out.path.name = scan_.take_name();
    }
    if (out.path.name.empty()) return fault("the name of a task is missing", help);
    scan_.skip_space();
    if (!scan_.take(")")) {
      return fault(fmt::format("{} expects the name of one task", function.text),
                   "put names with dots in quotes");
    }
    out.path.shown = out.path.name;
    return out;
  }

  ParsedCondition pair(const Operator& function, std::size_t begin) {
    if (++depth_ > kExpressionDepthMax) return fault("the condition is too deeply nested");
    ParsedCondition first = operand();
    if (!first) return first;
    scan_.skip_space();
    if (!scan_.take(",")) return fault(fmt::format("{} expects two values", function.text));
    ParsedCondition second = operand();
    if (!second) return second;
    scan_.skip_space();
    if (!scan_.take(")")) {
      return fault(fmt::format("{} expects two values; a ')' is missing here", function.text));
    }
    --depth_;
    return join_parts(function.kind, begin, *std::move(first), *std::move(second));
  }

  ExpressionScanner& scan_;
  std::size_t depth_ = 0;
};

void collect_reads(Condition& condition, std::vector<Condition*>& out) {
  if (condition.kind == ConditionKind::kPath || condition.kind == ConditionKind::kRunResult ||
      is_ending(condition.kind)) {
    out.push_back(&condition);
  }
  for (Condition& part : condition.parts) collect_reads(part, out);
}

}  // namespace

std::expected<Condition, TemplateFault> parse_condition(std::string_view text) {
  ExpressionScanner scan(text);
  const auto fault = [&](std::string message, std::string help) {
    return std::unexpected(TemplateFault{scan.at(), std::move(message), std::move(help)});
  };
  if (text.size() > kExpressionBytesMax) {
    return fault(fmt::format("a condition may have at most {} bytes", kExpressionBytesMax), "");
  }
  scan.skip_space();
  const bool marked = scan.take(kExpressionOpen);
  scan.skip_space();
  if (scan.at_end() || scan.starts_with("}}")) {
    return fault("the condition is empty", "write one such as params.env == \"prod\"");
  }
  auto condition = ConditionParser(scan).condition();
  if (!condition) return condition;
  scan.skip_space();
  if (marked && !scan.take("}}")) {
    return fault(fmt::format("unexpected {}", scan.shown_here()), "the ${{ is never closed");
  }
  scan.skip_space();
  if (!scan.at_end()) {
    return fault(fmt::format("unexpected {}", scan.shown_here()),
                 "combine conditions with and, or and not");
  }
  return condition;
}

ConditionCost cost_of(const Condition& condition) {
  ConditionCost cost{1, condition.kind == Condition::Kind::kContains ? 1u : 0u};
  for (const Condition& part : condition.parts) {
    const ConditionCost more = cost_of(part);
    cost.terms += more.terms;
    cost.searches += more.searches;
  }
  return cost;
}

std::vector<Condition*> reads_of(Condition& condition) {
  std::vector<Condition*> out;
  collect_reads(condition, out);
  return out;
}

}  // namespace vortex
