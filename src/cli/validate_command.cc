#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/dag_file.h"
#include "cli/human.h"
#include "codec/dag_schema.h"

namespace vortex::cli {
namespace {

struct ValidateFlags {
  std::vector<std::string> files;
  bool schema = false;
};

ExitCode validate(const Context& context, const ValidateFlags& flags) {
  if (flags.schema) {
    print(codec::dag_schema());
    return ExitCode::kOk;
  }
  if (flags.files.empty()) {
    complain("no file given", "vortex validate FILE...");
    return ExitCode::kUsage;
  }
  const auto files = dag_files_of(flags.files);
  if (!files) return files.error();
  ExitCode worst = ExitCode::kOk;
  for (const std::string& file : *files) {
    const auto plan = load_dag_plan(context, file);
    if (!plan) {
      worst = plan.error();
      continue;
    }
    const DagPlan& dag = **plan;
    if (context.output == Output::kName) {
      print(dag.spec.name + "\n");
    } else if (!context.quiet) {
      print(fmt::format("{}: ok: {}, {} in {}\n", file, dag.spec.name, counted(dag.tasks, "task"),
                        counted(dag.levels, "level")));
    }
  }
  return worst;
}

}  // namespace

void add_validate(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command(
      "validate",
      "Check DAG files without a controller and show the line, column and fix of every error");
  command.group(kRunThings);
  auto flags = std::make_shared<ValidateFlags>();
  command.option("file", flags->files, "DAG files (YAML or JSON), or directories of them");
  command.flag("--schema", flags->schema, "Print the JSON Schema of DAG files for editors");
  command.example(
      "vortex validate thumbs.yaml\n"
      "vortex validate dags/\n"
      "vortex validate --schema > dag.schema.json");
  command.on_chosen(chosen, [flags](Context& context) { return validate(context, *flags); });
}

}  // namespace vortex::cli
