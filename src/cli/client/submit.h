#pragma once
// From what was typed to a run that is accepted: params by their declared
// types, labels, the key. What is wrong is told to the user here.

#include <expected>
#include <string>
#include <vector>

#include "cli/client/api_client.h"
#include "cli/context.h"
#include "model/dag.h"
#include "model/plan.h"

namespace vortex::cli {

// A DAG from a file, checked and in its canonical form, ready to be sent.
// What is wrong with the file is reported on stderr with its place, and nothing is sent.

// Each directory replaced by the DAG files in it (*.yaml, *.yml, *.json; sorted, not recursive);
// one that has none is kNotFound.
std::expected<std::vector<std::string>, ExitCode> dag_files_of(
    const std::vector<std::string>& paths);

// The canonical JSON, or kInvalid (kNotFound when there is no such file).
std::expected<std::string, ExitCode> load_dag_file(const Context& context, const std::string& path);
// The same, compiled.
std::expected<PlanPtr, ExitCode> load_dag_plan(const Context& context, const std::string& path);

// As the controller has stored it under this name.
std::expected<DagSpec, ExitCode> load_stored_dag(ApiClient& api, const std::string& name);

// The params as the DAG wants them, with its defaults; `given` are NAME=VALUE.
std::expected<std::string, ExitCode> params_from(const DagSpec& spec,
                                                 const std::vector<std::string>& given);

// The same without the defaults: a JSON object of those that are given.
std::expected<std::string, ExitCode> some_params(const DagSpec& spec,
                                                 const std::vector<std::string>& given);

struct SubmitRequest {
  std::string dag_json;  // canonical
  std::string params_json = "{}";
  std::vector<std::string> labels;  // NAME=VALUE
  std::string key;                  // empty: a fresh one, so that a repeated send makes one run
  std::string starts_at = {};       // in UTC; empty: at once
  std::string keep_of = {};         // id of a run whose valid results are kept; empty: none
  bool is_command = false;          // its one task was made from arguments, not by the user
};
// The run.
std::expected<boost::json::object, ExitCode> submit_run(ApiClient& api, SubmitRequest request);

}  // namespace vortex::cli
