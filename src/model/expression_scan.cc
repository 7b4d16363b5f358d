#include "model/expression_scan.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/check.h"

namespace vortex {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The character an escape stands for; NUL: none.
char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '\\':
    case '"':
    case '\'':
      return c;
    default:
      return '\0';
  }
}

}  // namespace

bool is_path_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}

std::string ExpressionScanner::shown_here() const {
  return at_end() ? "end of the string" : in_quotes(text_.substr(at_, 1));
}

void ExpressionScanner::skip_space() {
  while (!at_end() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
}

bool ExpressionScanner::take(std::string_view what) {
  if (!starts_with(what)) return false;
  at_ += what.size();
  return true;
}

std::string_view ExpressionScanner::take_name() {
  const std::size_t begin = at_;
  while (is_path_char(peek())) ++at_;
  return since(begin);
}

std::size_t ExpressionScanner::take_digits() {
  const std::size_t begin = at_;
  while (is_digit(peek())) ++at_;
  return at_ - begin;
}

// The numbers of JSON without an exponent, so that they can be put into JSON as they are.
std::expected<std::string, TemplateFault> ExpressionScanner::take_number() {
  const std::size_t begin = at_;
  take("-");
  const bool zero = peek() == '0';
  const std::size_t whole = take_digits();
  bool fine = whole > 0 && (!zero || whole == 1);
  if (fine && take(".")) fine = take_digits() > 0;
  if (fine && !is_path_char(peek())) return std::string(since(begin));
  return std::unexpected(TemplateFault{begin, "this is not a number",
                                       "write it as 12 or -1.5, or as a string in quotes"});
}

std::expected<std::string, TemplateFault> ExpressionScanner::take_quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  std::string out;
  while (!at_end() && text_[at_] != quote) {
    char c = text_[at_++];
    if (c == '\\') {
      c = unescaped(peek());
      if (c == '\0') {
        return std::unexpected(
            TemplateFault{at_ - 1, "unknown escape", R"(there are \\ \" \' \n and \t)"});
      }
      ++at_;
    }
    out += c;
  }
  if (take({&quote, 1})) return out;
  return std::unexpected(TemplateFault{begin, "the quoted string is never closed", ""});
}

namespace {

// The paths of expressions: what they may begin with, and what may follow.

using PathResult = std::expected<Path, TemplateFault>;

constexpr std::array<std::string_view, 6> kFirstWords{"params", "map", "matrix",
                                                      "tasks",  "run", "task"};

struct WrittenStep {
  PathStep what;
  std::size_t offset = 0;
};

using WrittenSteps = std::vector<WrittenStep>;

std::expected<PathStep, TemplateFault> take_bracket(ExpressionScanner& scan) {
  const std::size_t begin = scan.at() - 1;
  scan.skip_space();
  PathStep step;
  if (scan.peek() == '"' || scan.peek() == '\'') {
    auto key = scan.take_quoted();
    if (!key) return std::unexpected(std::move(key).error());
    step = *std::move(key);
  } else {
    const std::string_view digits = scan.take_name();
    std::uint32_t index = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, index);
    if (digits.empty() || error != std::errc{} || stop != end) {
      return std::unexpected(TemplateFault{begin,
                                           "only a number or a string in quotes is allowed in [ ]",
                                           "write [0] for the first item, or [\"key\"]"});
    }
    step = index;
  }
  scan.skip_space();
  if (!scan.take("]")) return std::unexpected(TemplateFault{begin, "the [ is never closed", ""});
  return step;
}

std::expected<WrittenSteps, TemplateFault> take_steps(ExpressionScanner& scan) {
  WrittenSteps steps;
  while (true) {
    const std::size_t offset = scan.at();
    PathStep step;
    if (scan.take(".")) {
      const std::string_view name = scan.take_name();
      if (name.empty()) {
        return std::unexpected(TemplateFault{scan.at(), "a name is missing after the '.'",
                                             "put other names in brackets: [\"a.b\"]"});
      }
      step = std::string(name);
    } else if (scan.take("[")) {
      auto bracket = take_bracket(scan);
      if (!bracket) return std::unexpected(std::move(bracket).error());
      step = *std::move(bracket);
    } else {
      return steps;
    }
    // The root's own words come on top of what may follow them.
    if (steps.size() == kPathStepsMax + 3) {
      return std::unexpected(TemplateFault{
          offset, fmt::format("a path may have at most {} steps", kPathStepsMax), ""});
    }
    steps.push_back({std::move(step), offset});
  }
}

const std::string* name_at(const WrittenSteps& steps, std::size_t at) {
  return at < steps.size() ? std::get_if<std::string>(&steps[at].what) : nullptr;
}

// The path is root and name; what stands behind the first `used` steps goes on from there.
Path path_of(PathRoot root, std::string name, WrittenSteps steps, std::size_t used) {
  Path path;
  path.root = root;
  path.name = std::move(name);
  for (std::size_t i = used; i < steps.size(); ++i) path.steps.push_back(std::move(steps[i].what));
  return path;
}

std::unexpected<TemplateFault> refuse(std::size_t offset, std::string message, std::string help) {
  return std::unexpected(TemplateFault{offset, std::move(message), std::move(help)});
}

// run.id and the like: two words and nothing behind them.
struct Fact {
  std::string_view first;
  std::string_view second;
  PathRoot root;
};
constexpr std::array<Fact, 7> kFacts{{{"run", "id", PathRoot::kRunId},
                                      {"run", "dag", PathRoot::kDagName},
                                      {"run", "result", PathRoot::kRunResult},
                                      {"run", "slot", PathRoot::kRunSlot},
                                      {"run", "slot_end", PathRoot::kRunSlotEnd},
                                      {"task", "name", PathRoot::kTaskName},
                                      {"task", "attempt", PathRoot::kAttempt}}};

PathResult fact_path(std::string_view word, WrittenSteps steps, std::size_t begin) {
  std::vector<std::string_view> known;
  const std::string* name = name_at(steps, 0);
  for (const Fact& fact : kFacts) {
    if (fact.first != word) continue;
    known.push_back(fact.second);
    if (name == nullptr || *name != fact.second) continue;
    if (steps.size() == 1) return path_of(fact.root, {}, {}, 0);
    return refuse(steps[1].offset,
                  fmt::format("{}.{} is a plain value; nothing can follow it", word, *name), "");
  }
  const auto near = name == nullptr ? std::string_view() : nearest_name(*name, known);
  std::string all;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string_view between = i == 0 ? "" : i + 1 == known.size() ? " and " : ", ";
    all += fmt::format("{}{}.{}", between, word, known[i]);
  }
  return refuse(begin, fmt::format("'{}' has only {}", word, all),
                near.empty() ? "" : fmt::format("did you mean '{}.{}'?", word, near));
}

PathResult task_path(WrittenSteps steps, std::size_t begin) {
  const std::string* task = name_at(steps, 0);
  const std::string* outputs = name_at(steps, 1);
  if (task == nullptr || outputs == nullptr || *outputs != "outputs") {
    return refuse(begin, "only the outputs of other tasks can be read",
                  "write tasks.NAME.outputs.KEY");
  }
  return path_of(PathRoot::kOutputs, *task, std::move(steps), 2);
}

PathResult map_path(WrittenSteps steps, std::size_t begin) {
  const std::string* name = name_at(steps, 0);
  if (name == nullptr) return refuse(begin, "map needs a name", "write map.item or map.index");
  if (*name != "index") return path_of(PathRoot::kItem, *name, std::move(steps), 1);
  if (steps.size() == 1) return path_of(PathRoot::kIndex, {}, {}, 0);
  return refuse(steps[1].offset, "map.index is a plain value; nothing can follow it", "");
}

PathResult rooted_path(std::string_view word, WrittenSteps steps, std::size_t begin) {
  if (word == "params") {
    const std::string* name = name_at(steps, 0);
    if (name == nullptr) return refuse(begin, "params needs a name", "write params.NAME");
    return path_of(PathRoot::kParam, *name, std::move(steps), 1);
  }
  if (word == "map") return map_path(std::move(steps), begin);
  if (word == "matrix") return path_of(PathRoot::kItem, "matrix", std::move(steps), 0);
  if (word == "tasks") return task_path(std::move(steps), begin);
  if (word == "run" || word == "task") return fact_path(word, std::move(steps), begin);
  const auto near = nearest_name(word, kFirstWords);
  return refuse(
      begin, fmt::format("unknown name {}", in_quotes(word)),
      near.empty() ? "paths start with params, map, matrix, tasks, run or task; strings need quotes"
                   : fmt::format("did you mean {}?", in_quotes(near)));
}

}  // namespace

PathResult take_path(ExpressionScanner& scan, std::string_view word, std::size_t begin) {
  auto steps = take_steps(scan);
  if (!steps) return std::unexpected(std::move(steps).error());
  PathResult path = rooted_path(word, *std::move(steps), begin);
  if (!path) return path;
  path->offset = begin;
  path->shown = scan.since(begin);
  return path;
}

}  // namespace vortex
