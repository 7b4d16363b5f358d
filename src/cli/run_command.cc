// vortex run: submit a DAG file and watch it until it ends.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/address.h"
#include "cli/api_client.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/dag_file.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/progress.h"
#include "cli/submit.h"
#include "codec/dag_json.h"

namespace vortex::cli {
namespace {

struct RunFlags {
  std::string file;
  std::vector<std::string> params;
  std::vector<std::string> labels;
  std::string key;
  bool detach = false;
  bool dry_run = false;
  Duration limit;
};

// What would run, level by level, without telling anybody.
ExitCode show_plan(const DagPlan& plan) {
  print(fmt::format("{}: {} in {}\n", plan.spec.name, counted(plan.tasks, "task"),
                    counted(plan.levels, "level")));
  for (std::uint32_t level = 0; level < plan.levels; ++level) {
    print(fmt::format("  level {}\n", level));
    for (const std::uint32_t node : plan.nodes_by_level[level]) {
      const NodeSpec& spec = plan.node_spec(node);
      const std::uint32_t tasks = plan.nodes[node].tasks;
      print(fmt::format(
          "    {}{}{}\n", spec.name, spec.map ? fmt::format(" x{}", tasks) : "",
          spec.needs.empty() ? "" : fmt::format("  needs {}", fmt::join(spec.needs, ", "))));
    }
  }
  return ExitCode::kOk;
}

ExitCode run(const Context& context, const RunFlags& flags) {
  const auto plan = load_dag_plan(context, flags.file);
  if (!plan) return plan.error();
  auto params = params_from((*plan)->spec, flags.params);
  if (!params) return params.error();
  if (flags.dry_run) return show_plan(**plan);
  auto api = ApiClient::open(context);
  if (!api) return api.error();
  SubmitRequest request;
  request.dag_json = codec::write_dag((*plan)->spec);
  request.params_json = *std::move(params);
  request.labels = flags.labels;
  request.key = flags.key;
  const auto run_id = submit_run(**api, std::move(request));
  if (!run_id) return run_id.error();
  if (flags.detach) {
    print(*run_id + "\n");
    if (!context.quiet) talk(fmt::format("Watch it with:  vortex runs watch {}", *run_id));
    return ExitCode::kOk;
  }
  if (!context.quiet) talk(fmt::format("{} submitted as {}", (*plan)->spec.name, *run_id));
  WatchOptions watch;
  watch.limit = flags.limit;
  const ExitCode end = watch_run(context, **api, *run_id, watch);
  if (wants_json(context)) {
    const auto last = (*api)->get("/api/runs/" + escaped(*run_id));
    if (last) print(context.output == Output::kJson ? pretty_json(last->json) : last->text);
  }
  return end;
}

}  // namespace

void add_run(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("run", "Submit a DAG file and watch it until it ends");
  command.group(kRunThings);
  auto flags = std::make_shared<RunFlags>();
  command.option("file", flags->file, "DAG file, YAML or JSON").required();
  command.option("-p,--param", flags->params, "Param of the run, NAME=VALUE; repeat for more");
  command.option("-l,--label", flags->labels, "Label of the run, NAME=VALUE; repeat for more");
  command.option("--idempotency-key", flags->key,
                 "Repeating the command with the same key does not start another run");
  command.flag("-d,--detach", flags->detach, "Print the run's id without waiting");
  command.flag("--dry-run", flags->dry_run,
               "Check everything and show the plan without submitting");
  command.duration("--wait", flags->limit, "Wait at most this long, then exit 9");
  command.example(
      "vortex run thumbs.yaml -p dir=/srv/photos\n"
      "vortex run nightly.yaml --detach --idempotency-key nightly-2026-02-22");
  command.on_chosen(chosen, [flags](Context& context) { return run(context, *flags); });
}

}  // namespace vortex::cli
