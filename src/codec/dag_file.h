#pragma once
// DAG files as people write them: YAML, or the canonical JSON (codec/dag_json.h).
//
// YAML has the members of the canonical form and a few more: `defaults` for all tasks, `needs` as
// one text, `matrix`. docs/dag-files.md is the whole description. Everything that is wrong with a
// file is told at once, each with its line and column. Pure functions, any thread.

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/document.h"
#include "codec/yaml/yaml_document.h"
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

// Gives the DAG in a file that a task refers to, with those that it carries itself; or what is
// wrong with it, for people.
using DagOfFile = std::function<std::expected<std::shared_ptr<const DagSpec>, std::string>(
    const std::string& file)>;

// Reads, compiles and checks the expressions. The plan's spec is what `write_dag` sends. Without
// `of_file` no other file can be referred to.
std::expected<PlanPtr, DagComplaints> check_dag_file(std::string_view text, Syntax syntax,
                                                     const DagLimits& limits,
                                                     const DagOfFile& of_file = {});

// Where the value at a pointer of the canonical form stands in the file it was read from, or what
// is nearest to it: for problems that the controller finds. Line 0 when the file cannot be read.
Position place_in_file(std::string_view text, Syntax syntax, std::string_view pointer);

// error[VX-DAG-014]: unknown key 'retires' in task 'resize'
//   --> thumbs.yaml:12:5
//    = help: did you mean 'retries'?
// Every line ends with a newline. An empty code is left out.
std::string to_text(const Problem& problem, std::string_view file, std::string_view code);

// A DAG file, parsed in its syntax, and the places of everything in it.
// Whatever the syntax, the document is the same. Internal to the codec; one thread.

class LoadedFile {
 public:
  // To be called once, with a text that outlives this. Problems: there is nothing to read.
  std::optional<Problems> load(std::string_view text, Syntax syntax);

  const Document& document() const { return document_; }
  // What is wrong with the file although it can be read.
  const Problems& problems() const { return yaml_.problems; }

  // Of the value at a pointer, or of what is nearest: a task's member that comes from `defaults`
  // stands there, and what is not written at all is placed where it would be.
  Position place_of(std::string_view pointer) const;

  // Of a byte of the text at the pointer, as exactly as it can be told: the expression it belongs
  // to is searched in the file.
  struct TextPlace {
    std::string_view pointer;
    std::string_view text;
    std::size_t offset = 0;
  };
  Position place_in_text(const TextPlace& place) const;

 private:
  Position place_in_plain(const Position& start, const TextPlace& place) const;

  std::string_view text_;
  YamlDocument yaml_;
  Document document_;
};

// All that stands in the way of running a DAG file, where `compile` would stop at the first.
// Each complaint has its place in the file. Internal to the codec.

DagComplaint placed_complaint(const LoadedFile& file, const DagSpec& spec, DagError error);

// Needs that no task has the name of.
void complain_of_needs(const LoadedFile& file, const DagSpec& spec, DagComplaints& out);
// Names and values, task by task.
void complain_of_tasks(const LoadedFile& file, const DagSpec& spec, DagComplaints& out);
void complain_of_schedule(const LoadedFile& file, const DagSpec& spec, const DagLimits& limits,
                          DagComplaints& out);
void complain_of_expressions(const LoadedFile& file, const DagSpec& spec, DagComplaints& out);

}  // namespace vortex::codec
