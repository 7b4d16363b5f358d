#pragma once
// DAG files as people write them: YAML, or the canonical JSON (codec/dag_json.h).
//
// YAML has the members of the canonical form and a few more: `defaults` for all tasks, `needs` as
// one text, `matrix`. docs/dag-files.md is the whole description. Everything that is wrong with a
// file is told at once, each with its line and column. Pure functions, any thread.

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/document.h"
#include "codec/problem.h"
#include "model/dag.h"
#include "model/plan.h"

namespace vortex::codec {

// By the ending of its name: .json is JSON, everything else YAML.
Syntax syntax_of(std::string_view file);

// Only well-formed, like read_dag: `compile` decides whether it can run.
Decoded<DagSpec> read_dag_yaml(std::string_view text);

struct DagComplaint {
  Problem problem;
  // What `compile` says against it; unset: the file is not a well-formed DAG.
  std::optional<DagError::Kind> kind;
};
using DagComplaints = std::vector<DagComplaint>;  // by place, at most kProblemsMax, never empty

// Reads, compiles and checks the expressions. The plan's spec is what `write_dag` sends.
std::expected<PlanPtr, DagComplaints> check_dag_file(std::string_view text, Syntax syntax,
                                                     const DagLimits& limits);

// Where the value at a pointer of the canonical form stands in the file it was read from, or what
// is nearest to it: for problems that the controller finds. Line 0 when the file cannot be read.
Position place_in_file(std::string_view text, Syntax syntax, std::string_view pointer);

// error[VX-DAG-014]: unknown key 'retires' in task 'resize'
//   --> thumbs.yaml:12:5
//    = help: did you mean 'retries'?
// Every line ends with a newline. An empty code is left out.
std::string to_text(const Problem& problem, std::string_view file, std::string_view code);

}  // namespace vortex::codec
