#include "codec/dag_file.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/dag_json.h"
#include "codec/dag_read.h"
#include "codec/reading.h"
#include "model/check.h"
#include "model/expression.h"
#include "model/expression_check.h"
#include "model/passing/children.h"
#include "model/value.h"

namespace vortex::codec {
namespace {

std::size_t offset_of(std::string_view text, Position at) {
  std::size_t offset = 0;
  for (std::uint32_t line = 1; line < at.line; ++line) {
    const std::size_t end = text.find('\n', offset);
    if (end == text.npos) return text.size();
    offset = end + 1;
  }
  return std::min(offset + at.column - 1, text.size());
}

// "/tasks/resize/env/DIR" as "/defaults/env/DIR"; empty for everything else.
std::string in_defaults(std::string_view pointer) {
  constexpr std::string_view kTasks = "/tasks/";
  constexpr std::string_view kFinally = "/finally/";
  const bool last = pointer.starts_with(kFinally);
  if (!last && !pointer.starts_with(kTasks)) return {};
  const std::size_t end = pointer.find('/', last ? kFinally.size() : kTasks.size());
  return end == pointer.npos ? std::string() : "/defaults" + std::string(pointer.substr(end));
}

}  // namespace

std::optional<Problems> LoadedFile::load(std::string_view text, Syntax syntax) {
  text_ = text;
  std::string_view json = text;
  if (syntax == Syntax::kYaml) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    auto loaded = load_yaml(text);
    if (!loaded) return std::move(loaded).error();
    yaml_ = *std::move(loaded);
    json = yaml_.json;
  }
  if (auto fault = document_.parse(json)) return Problems{*std::move(fault)};
  if (syntax == Syntax::kYaml) document_.set_origin(yaml_.marks);
  return std::nullopt;
}

Position LoadedFile::place_of(std::string_view pointer) const {
  if (const auto node = document_.find(pointer)) return document_.position_of(*node);
  if (const auto node = document_.find(in_defaults(pointer)); node && *node != 0) {
    return document_.position_of(*node);
  }
  while (!pointer.empty()) {
    pointer = pointer.substr(0, pointer.rfind('/'));
    if (const auto node = document_.find(pointer)) return document_.position_of(*node);
  }
  return {1, 1};
}

// A text without marks, such as a condition: told to the byte where the file has it as it is.
Position LoadedFile::place_in_plain(const Position& start, const TextPlace& place) const {
  std::size_t at = offset_of(text_, start);
  if (at < text_.size() && (text_[at] == '"' || text_[at] == '\'')) ++at;
  if (place.text.empty() || !text_.substr(at).starts_with(place.text)) return start;
  return position_at(text_, at + std::min(place.offset, place.text.size()));
}

// The mark that opens an expression looks the same in every style of quoting, so the n-th one of
// the value is the n-th one behind the place of the value.
Position LoadedFile::place_in_text(const TextPlace& place) const {
  const Position start = place_of(place.pointer);
  std::size_t at = offset_of(text_, start);
  std::size_t mark = place.text.npos;
  for (std::size_t next = place.text.find(kExpressionOpen);
       next != place.text.npos && next <= place.offset;
       next = place.text.find(kExpressionOpen, next + 1)) {
    mark = next;
    at = text_.find(kExpressionOpen, next == place.text.find(kExpressionOpen) ? at : at + 1);
    if (at == text_.npos) return start;
  }
  if (mark == place.text.npos) return place_in_plain(start, place);
  return position_at(text_, at + (place.offset - mark));
}

namespace {

using Kind = DagError::Kind;

bool full(const DagComplaints& out) { return out.size() >= kProblemsMax; }

std::vector<std::string_view> names_of(const DagSpec& spec, std::string_view except) {
  std::vector<std::string_view> names;
  for (const NodeSpec& node : spec.nodes) {
    if (node.name != except) names.push_back(node.name);
  }
  return names;
}

DagError unknown_need(const DagSpec& spec, const NodeSpec& node, std::size_t at) {
  const std::string& need = node.needs[at];
  const std::string_view near = nearest_name(need, names_of(spec, node.name));
  return {Kind::kUnknownNeed,
          node.name,
          fmt::format("needs {}, which is not a task in this DAG", in_quotes(need)),
          {"needs", fmt::to_string(at)},
          0,
          near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near))};
}

// The text of a task that the error is about; empty when it is about something else.
std::string text_of(const DagSpec& spec, const DagError& error) {
  const bool key = error.member.size() == 2 && error.member[0] == "concurrency";
  if (key && error.node.empty() && spec.concurrency) return spec.concurrency->key;
  const auto node = std::ranges::find(spec.nodes, error.node, &NodeSpec::name);
  if (node == spec.nodes.end() && error.member.size() == 2 && error.member[0] == "outputs") {
    const auto at = std::ranges::find(spec.outputs, error.member[1],
                                      &std::pair<std::string, std::string>::first);
    return at == spec.outputs.end() ? std::string() : at->second;
  }
  if (node == spec.nodes.end() || error.member.empty()) return {};
  const CommandLine& command = node->command;
  const std::string& first = error.member.front();
  if (first == "workdir") return command.workdir;
  if (first == "if") return node->condition;
  if (first == "env") {
    const auto at = std::ranges::find_if(
        command.env, [&](const auto& pair) { return pair.first == error.member[1]; });
    return at == command.env.end() ? std::string() : at->second;
  }
  if (first == "params" && node->child && error.member.size() > 1) {
    const auto at = std::ranges::find(node->child->params, error.member[1],
                                      &std::pair<std::string, std::string>::first);
    return at == node->child->params.end() ? std::string() : value_of_json(at->second).text;
  }
  if (first != "run" && first != "shell") return {};
  const auto& words = first == "run" ? command.argv : command.shell;
  return words[error.member.size() < 2 ? 0 : std::stoul(error.member[1])];
}

}  // namespace

DagComplaint placed_complaint(const LoadedFile& file, const DagSpec& spec, DagError error) {
  const auto named = std::ranges::find(spec.nodes, error.node, &NodeSpec::name);
  if (named != spec.nodes.end()) error.in_finally = named->finally;
  Problem problem = explain_dag_error(error);
  const Position at = file.place_in_text(
      {.pointer = problem.pointer, .text = text_of(spec, error), .offset = error.offset});
  problem.line = at.line;
  problem.column = at.column;
  return {std::move(problem), error.kind};
}

void complain_of_needs(const LoadedFile& file, const DagSpec& spec, DagComplaints& out) {
  std::unordered_set<std::string_view> names;
  for (const NodeSpec& node : spec.nodes) names.insert(node.name);
  for (const NodeSpec& node : spec.nodes) {
    for (std::size_t i = 0; i < node.needs.size() && !full(out); ++i) {
      if (names.contains(node.needs[i])) continue;
      out.push_back(placed_complaint(file, spec, unknown_need(spec, node, i)));
    }
  }
}

void complain_of_tasks(const LoadedFile& file, const DagSpec& spec, DagComplaints& out) {
  for (const NodeSpec& node : spec.nodes) {
    if (full(out)) return;
    if (auto c = complain_of_name("name", node.name)) {
      out.push_back(placed_complaint(file, spec, {Kind::kBadName, node.name, *std::move(c)}));
    } else if (auto complaint = complain_of_values(node)) {
      out.push_back(
          placed_complaint(file, spec, {Kind::kBadValue, node.name, *std::move(complaint)}));
    }
  }
}

void complain_of_schedule(const LoadedFile& file, const DagSpec& spec, const DagLimits& limits,
                          DagComplaints& out) {
  if (full(out)) return;
  if (auto fault = find_bad_schedule(spec, limits.zones)) {
    out.push_back(placed_complaint(file, spec, *fault));
  }
  if (auto fault = find_bad_concurrency(spec)) {
    out.push_back(placed_complaint(file, spec, *fault));
  }
}

void complain_of_expressions(const LoadedFile& file, const DagSpec& spec, DagComplaints& out) {
  if (full(out)) return;
  for (ExpressionFault& fault : scan_expressions(spec, kProblemsMax).faults) {
    DagComplaint complaint = placed_complaint(file, spec, to_dag_error(spec, std::move(fault)));
    // Tasks share what stands in `defaults`; once is enough.
    const auto same = [&](const DagComplaint& told) {
      return told.problem.line == complaint.problem.line &&
             told.problem.column == complaint.problem.column;
    };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(complaint));
  }
}

namespace {

struct FileReading {
  DagSpec spec;
  Problems problems;
};

Position position_of(const Problem& problem) { return {problem.line, problem.column}; }

FileReading read_loaded(const LoadedFile& file) {
  FileReading out;
  Reading in(file.document(), UnknownKeys::kRefused);
  read_dag_document(in, 0, out.spec);
  out.problems = file.problems();
  if (in.fine()) return out;
  for (Problem& problem : in.take_problems()) {
    // A scalar that is not clear by itself need not be told a second time for what it is not.
    const bool told = std::ranges::any_of(file.problems(), [&](const Problem& unclear) {
      return position_of(unclear) == position_of(problem);
    });
    if (!told) out.problems.push_back(std::move(problem));
  }
  return out;
}

DagComplaints malformed(Problems problems) {
  DagComplaints out;
  for (Problem& problem : problems) out.push_back({std::move(problem), std::nullopt});
  return out;
}

// Sorted by place; what aliases repeat is told once.
void tidy(DagComplaints& list) {
  const auto key = [](const DagComplaint& entry) {
    return std::pair<Position, std::string_view>(position_of(entry.problem), entry.problem.message);
  };
  const auto same = [&](const auto& a, const auto& b) { return key(a) == key(b); };
  std::ranges::sort(list, {}, key);
  list.erase(std::unique(list.begin(), list.end(), same), list.end());
  if (list.size() > kProblemsMax) list.resize(kProblemsMax);
}

}  // namespace

Syntax syntax_of(std::string_view file) {
  return file.ends_with(".json") ? Syntax::kJson : Syntax::kYaml;
}

Decoded<DagSpec> read_dag_yaml(std::string_view text) {
  LoadedFile file;
  if (auto problems = file.load(text, Syntax::kYaml)) return std::unexpected(*std::move(problems));
  FileReading reading = read_loaded(file);
  if (reading.problems.empty()) return std::move(reading.spec);
  DagComplaints complaints = malformed(std::move(reading.problems));
  tidy(complaints);
  Problems problems;
  for (DagComplaint& complaint : complaints) problems.push_back(std::move(complaint.problem));
  return std::unexpected(std::move(problems));
}

namespace {

// Puts a DAG beside the others that the specification carries; empty: done.
std::string carry(DagSpec& spec, std::shared_ptr<const DagSpec> dag) {
  const DagSpec* there = find_dag(spec, dag->name);
  if (there == nullptr) {
    spec.dags.push_back(std::move(dag));
    return {};
  }
  if (digest_of(*there) == digest_of(*dag)) return {};
  return fmt::format("two different DAGs are called {}; rename one of them", in_quotes(dag->name));
}

std::string carry_all(DagSpec& spec, const DagSpec& dag) {
  auto own = std::make_shared<DagSpec>(dag);
  own->dags.clear();
  std::string wrong = carry(spec, std::move(own));
  for (const auto& below : dag.dags) {
    if (wrong.empty()) wrong = carry(spec, below);
  }
  return wrong;
}

// Tasks that refer to files refer to the DAGs in them from now on.
void take_files(const LoadedFile& file, DagSpec& spec, const DagOfFile& of_file,
                DagComplaints& out) {
  for (NodeSpec& node : spec.nodes) {
    if (!node.child || !is_dag_file(node.child->dag) || full(out)) continue;
    const auto dag = of_file(node.child->dag);
    std::string wrong = dag ? carry_all(spec, **dag) : dag.error();
    if (!wrong.empty()) {
      out.push_back(
          placed_complaint(file, spec, {Kind::kBadValue, node.name, std::move(wrong), {"dag"}}));
      continue;
    }
    node.child->dag = (*dag)->name;
  }
}

}  // namespace

std::expected<PlanPtr, DagComplaints> check_dag_file(std::string_view text, Syntax syntax,
                                                     const DagLimits& limits,
                                                     const DagOfFile& of_file) {
  LoadedFile file;
  if (auto problems = file.load(text, syntax)) {
    return std::unexpected(malformed(*std::move(problems)));
  }
  FileReading reading = read_loaded(file);
  const bool readable = reading.problems.empty();
  DagComplaints complaints = malformed(std::move(reading.problems));
  complain_of_needs(file, reading.spec, complaints);
  const std::size_t before = complaints.size();
  if (readable && of_file) take_files(file, reading.spec, of_file, complaints);
  // A file that could not be taken would be complained of once more.
  if (readable && complaints.size() == before) {
    complain_of_tasks(file, reading.spec, complaints);
    complain_of_schedule(file, reading.spec, limits, complaints);
    complain_of_expressions(file, reading.spec, complaints);
  }
  if (complaints.empty()) {
    auto plan = compile(reading.spec, limits);
    if (plan) return *std::move(plan);
    complaints.push_back(placed_complaint(file, reading.spec, plan.error()));
  }
  tidy(complaints);
  return std::unexpected(std::move(complaints));
}

Position place_in_file(std::string_view text, Syntax syntax, std::string_view pointer) {
  LoadedFile file;
  if (file.load(text, syntax)) return {};
  return file.place_of(pointer);
}

std::string to_text(const Problem& problem, std::string_view file, std::string_view code) {
  std::string out = code.empty() ? "error: " : fmt::format("error[{}]: ", code);
  out += problem.message + "\n";
  if (problem.line == 0) {
    out += fmt::format("  --> {}\n", file);
  } else {
    out += fmt::format("  --> {}:{}:{}\n", file, problem.line, problem.column);
  }
  if (!problem.help.empty()) out += fmt::format("   = help: {}\n", problem.help);
  return out;
}

}  // namespace vortex::codec
