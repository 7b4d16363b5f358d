#include "model/expression.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/check.h"
#include "model/expression_scan.h"

namespace vortex {
namespace {

using ExpressionKind = Expression::Kind;
using Parsed = std::expected<Expression, TemplateFault>;

constexpr std::array<std::string_view, 2> kFunctions{"json", "join"};

Expression plain(ExpressionKind kind, std::string text) {
  Expression out;
  out.kind = kind;
  out.text = std::move(text);
  return out;
}

class Parser {
 public:
  explicit Parser(ExpressionScanner& scan) : scan_(scan) {}

  Parsed expression() {
    if (++depth_ > kExpressionDepthMax) return fault("the expression is too deeply nested");
    Parsed first = term();
    if (!first) return first;
    scan_.skip_space();
    if (!scan_.starts_with("??")) {
      --depth_;
      return first;
    }
    Expression out;
    out.kind = ExpressionKind::kDefault;
    out.parts.push_back(*std::move(first));
    while (scan_.take("??")) {
      Parsed next = term();
      if (!next) return next;
      out.parts.push_back(*std::move(next));
      scan_.skip_space();
    }
    --depth_;
    return out;
  }

 private:
  std::unexpected<TemplateFault> fault(std::string message, std::string help = {}) const {
    return std::unexpected(TemplateFault{scan_.at(), std::move(message), std::move(help)});
  }

  Parsed term() {
    scan_.skip_space();
    const char next = scan_.peek();
    if (next == '"' || next == '\'') return quoted();
    if (next == '-' || (next >= '0' && next <= '9')) return number();
    if (is_path_char(next)) return named();
    if (scan_.starts_with("}}")) {
      return fault("the expression is empty here", "write a path such as params.dir, or a string");
    }
    return fault(fmt::format("unexpected {}", scan_.shown_here()),
                 "write a path such as params.dir, a string in quotes, or a number");
  }

  Parsed quoted() {
    auto text = scan_.take_quoted();
    if (!text) return std::unexpected(std::move(text).error());
    return plain(ExpressionKind::kText, *std::move(text));
  }

  Parsed number() {
    auto text = scan_.take_number();
    if (!text) return std::unexpected(std::move(text).error());
    return plain(ExpressionKind::kNumber, *std::move(text));
  }

  // A word is a literal, a function or the beginning of a path.
  Parsed named() {
    const std::size_t begin = scan_.at();
    const std::string word(scan_.take_name());
    if (word == "true" || word == "false") return plain(ExpressionKind::kBoolean, word);
    if (word == "null") return plain(ExpressionKind::kNull, word);
    const std::size_t end = scan_.at();
    scan_.skip_space();
    if (scan_.peek() == '(') return call(word, begin);
    scan_.move_to(end);
    auto path = take_path(scan_, word, begin);
    if (!path) return std::unexpected(std::move(path).error());
    Expression out;
    out.kind = ExpressionKind::kPath;
    out.path = *std::move(path);
    return out;
  }

  Parsed call(const std::string& name, std::size_t begin) {
    if (name != "json" && name != "join") {
      const auto near = nearest_name(name, kFunctions);
      return std::unexpected(
          TemplateFault{begin, fmt::format("unknown function {}", in_quotes(name)),
                        near.empty() ? "available functions: json(x) and join(list, \",\")"
                                     : fmt::format("did you mean {}?", in_quotes(near))});
    }
    scan_.take("(");
    Expression out;
    out.kind = name == "json" ? ExpressionKind::kJson : ExpressionKind::kJoin;
    const std::size_t wanted = out.kind == ExpressionKind::kJson ? 1 : 2;
    while (out.parts.size() < wanted) {
      if (!out.parts.empty()) {
        scan_.skip_space();
        if (!scan_.take(",")) return fault(fmt::format("{} expects two values", name), kJoinHelp);
      }
      Parsed part = expression();
      if (!part) return part;
      out.parts.push_back(*std::move(part));
    }
    scan_.skip_space();
    if (!scan_.take(")")) {
      return fault(fmt::format("{} expects {}; a ')' is missing here", name,
                               wanted == 1 ? "one value" : "two values"));
    }
    return out;
  }

  static constexpr const char* kJoinHelp = "write join(list, \",\")";

  ExpressionScanner& scan_;
  std::size_t depth_ = 0;
};

std::expected<Expression, TemplateFault> parse_one(std::string_view text, std::size_t open,
                                                   std::size_t& after) {
  const std::size_t end = std::min(text.size(), open + kExpressionBytesMax);
  ExpressionScanner scan(text.substr(0, end));
  scan.move_to(open + kExpressionOpen.size());
  auto expression = Parser(scan).expression();
  scan.skip_space();
  if (scan.at_end()) {
    if (end == text.size() && !expression) return expression;
    return std::unexpected(
        end == text.size()
            ? TemplateFault{open, "the expression is not closed", "close it with }}"}
            : TemplateFault{
                  open, fmt::format("the expression has more than {} bytes", kExpressionBytesMax),
                  ""});
  }
  if (!expression) return expression;
  if (!scan.take("}}")) {
    return std::unexpected(
        TemplateFault{scan.at(), fmt::format("unexpected {}", scan.shown_here()),
                      "an expression is a single value; put other text outside it"});
  }
  after = scan.at();
  return expression;
}

template <class Some, class Paths>
void collect(Some& expression, Paths& out) {
  if (expression.kind == ExpressionKind::kPath) out.push_back(&expression.path);
  for (Some& part : expression.parts) collect(part, out);
}

}  // namespace

std::expected<Template, TemplateFault> parse_template(std::string_view text) {
  Template out;
  out.texts.emplace_back();
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find(kExpressionOpen, at);
    if (open == std::string_view::npos) break;
    if (open > at && text[open - 1] == '$') {
      out.texts.back().append(text, at, open - 1 - at).append(kExpressionOpen);
      at = open + kExpressionOpen.size();
      continue;
    }
    out.texts.back().append(text, at, open - at);
    if (out.expressions.size() == kExpressionsMax) {
      return std::unexpected(TemplateFault{
          open, fmt::format("a string may contain at most {} expressions", kExpressionsMax), ""});
    }
    auto expression = parse_one(text, open, at);
    if (!expression) return std::unexpected(std::move(expression).error());
    out.expressions.push_back(*std::move(expression));
    out.texts.emplace_back();
  }
  out.texts.back().append(text, at);
  return out;
}

std::expected<Path, TemplateFault> path_of_map(std::string_view text) {
  auto parsed = parse_template(text);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  constexpr const char* kHelp =
      "write one expression such as ${{ tasks.list.outputs.files }} or ${{ params.files }}";
  const bool alone = parsed->expressions.size() == 1 && parsed->texts.front().empty() &&
                     parsed->texts.back().empty();
  if (!alone || parsed->expressions.front().kind != ExpressionKind::kPath) {
    return std::unexpected(
        TemplateFault{0, "a map goes over a single param or output, and nothing else", kHelp});
  }
  Path& path = parsed->expressions.front().path;
  if (path.root != PathRoot::kParam && path.root != PathRoot::kOutputs) {
    return std::unexpected(
        TemplateFault{path.offset, fmt::format("a map cannot go over {}", path.shown), kHelp});
  }
  return std::move(path);
}

std::vector<const Path*> references(const Template& tmpl) {
  std::vector<const Path*> out;
  for (const Expression& expression : tmpl.expressions) collect(expression, out);
  return out;
}

std::vector<Path*> references(Template& tmpl) {
  std::vector<Path*> out;
  for (Expression& expression : tmpl.expressions) collect(expression, out);
  return out;
}

}  // namespace vortex
