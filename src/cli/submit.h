#pragma once
// From what was typed to a run that is accepted: params by their declared
// types, labels, the key. What is wrong is told to the user here.

#include <expected>
#include <string>
#include <vector>

#include "cli/api_client.h"
#include "cli/context.h"
#include "model/dag.h"

namespace vortex::cli {

// The params as the DAG wants them, with its defaults; `given` are NAME=VALUE.
std::expected<std::string, ExitCode> params_from(const DagSpec& spec,
                                                 const std::vector<std::string>& given);

struct SubmitRequest {
  std::string dag_json;  // canonical
  std::string params_json = "{}";
  std::vector<std::string> labels;  // NAME=VALUE
  std::string key;                  // empty: a fresh one, so that a repeated send makes one run
  bool is_command = false;          // its one task was made from arguments, not by the user
};
// The run's id.
std::expected<std::string, ExitCode> submit_run(ApiClient& api, SubmitRequest request);

}  // namespace vortex::cli
