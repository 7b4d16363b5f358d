#pragma once
// A DAG from a file, checked and in its canonical form, ready to be sent.
// What is wrong with the file is reported on stderr with its place, and nothing is sent.

#include <expected>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/plan.h"

namespace vortex::cli {

// Each directory replaced by the DAG files in it (*.yaml, *.yml, *.json; sorted, not recursive);
// one that has none is kNotFound.
std::expected<std::vector<std::string>, ExitCode> dag_files_of(
    const std::vector<std::string>& paths);

// The canonical JSON, or kInvalid (kNotFound when there is no such file).
std::expected<std::string, ExitCode> load_dag_file(const Context& context, const std::string& path);
// The same, compiled.
std::expected<PlanPtr, ExitCode> load_dag_plan(const Context& context, const std::string& path);

}  // namespace vortex::cli
