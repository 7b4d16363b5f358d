#include "codec/dag_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "codec/dag_document.h"
#include "codec/dag_file_check.h"
#include "codec/loaded_file.h"
#include "codec/reading.h"

namespace vortex::codec {
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

std::expected<PlanPtr, DagComplaints> check_dag_file(std::string_view text, Syntax syntax,
                                                     const DagLimits& limits) {
  LoadedFile file;
  if (auto problems = file.load(text, syntax)) {
    return std::unexpected(malformed(*std::move(problems)));
  }
  FileReading reading = read_loaded(file);
  const bool readable = reading.problems.empty();
  DagComplaints complaints = malformed(std::move(reading.problems));
  complain_of_needs(file, reading.spec, complaints);
  if (readable) {
    complain_of_tasks(file, reading.spec, complaints);
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
