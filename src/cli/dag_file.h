#pragma once
// A DAG from a file, checked and in its canonical form, ready to be sent.
// What is wrong with the file is told on stderr with its place, and is never sent anywhere.

#include <expected>
#include <string>

#include "cli/context.h"
#include "model/plan.h"

namespace vortex::cli {

// The canonical JSON, or kInvalid (kNotFound when there is no such file).
std::expected<std::string, ExitCode> load_dag_file(const Context& context, const std::string& path);
// The same, compiled.
std::expected<PlanPtr, ExitCode> load_dag_plan(const Context& context, const std::string& path);

}  // namespace vortex::cli
