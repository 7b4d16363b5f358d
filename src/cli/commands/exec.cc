// vortex exec: one command as a task, its output streamed.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/commands/log_source.h"
#include "cli/screen/json_view.h"
#include "cli/screen/run_watch.h"
#include "codec/dag_json.h"

namespace vortex::cli {
namespace {

constexpr auto kExecLookEvery = std::chrono::milliseconds(100);

constexpr Duration kNoLimit{-1};

struct ExecFlags {
  std::vector<std::string> command;
  std::string queue;
  std::string workdir;
  std::uint16_t retries = 0;
  Duration timeout = kNoLimit;
};

std::string dag_for(const ExecFlags& flags) {
  NodeSpec node;
  node.name = "command";
  node.command.argv = flags.command;
  node.command.workdir = flags.workdir;
  if (!flags.queue.empty()) node.requirements.queue = flags.queue;
  if (flags.timeout > Duration{}) node.execution_timeout = flags.timeout;
  RetryPolicy retry;
  retry.max_retries = flags.retries;
  node.retry = retry;
  DagSpec dag;
  dag.name = "exec";
  dag.nodes.push_back(std::move(node));
  return codec::write_dag(dag);
}

ExitCode end_of(ApiClient& api, const std::string& task, const std::string& state) {
  if (state == "Completed") return ExitCode::kOk;
  if (state == "Cancelled") return ExitCode::kRunCancelled;
  const auto attempts = api.get(fmt::format("/api/tasks/{}/attempts", escaped(task)));
  if (attempts && !list_at(attempts->object(), "attempts").empty()) {
    talk("failed: " + verdict_text(list_at(attempts->object(), "attempts").back().as_object()));
  }
  return ExitCode::kRunFailed;
}

ExitCode stream(ApiClient& api, const std::string& task) {
  LogSource source(api, task, {});
  LineWriter out({}, nullptr, [](std::string_view text) { print_now(text); });
  for (;;) {
    // The state first: what is read after an end is all there is.
    const auto now = api.get("/api/tasks/" + escaped(task));
    if (!now) return report(now.error());
    const std::string state = text_at(now->object(), "state");
    const bool over =
        state == "Completed" || state == "Failed" || state == "Cancelled" || state == "Skipped";
    do {
      if (const auto read = source.read_on(out); !read) return report(read.error());
    } while (source.drained() && source.next_attempt().value_or(false));
    if (over) {
      out.finish();
      return end_of(api, task, state);
    }
    std::this_thread::sleep_for(kExecLookEvery);
  }
}

ExitCode execute(const Context& context, const ExecFlags& flags) {
  if (flags.timeout == Duration{}) {
    complain("--limit must be more than 0");
    return ExitCode::kUsage;
  }
  auto api = ApiClient::open(context);
  if (!api) return api.error();
  SubmitRequest request;
  request.dag_json = dag_for(flags);
  request.is_command = true;
  const auto run = submit_run(**api, std::move(request));
  if (!run) return run.error();
  const std::string task = text_at(*run, "id") + "-L0-0";
  if (!context.quiet) talk(fmt::format("running as {}", task));
  return stream(**api, task);
}

}  // namespace

void add_exec(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("exec", "Run one command as a task and show its output");
  command.group(kRunThings);
  auto flags = std::make_shared<ExecFlags>();
  command.option("command", flags->command, "The command and its arguments, after --").required();
  command.option("--queue", flags->queue, "Queue to use").default_text("default").not_empty();
  command.option("--workdir", flags->workdir, "Working directory (default: the worker's)");
  command.option("--retries", flags->retries, "Number of retries if it fails").shows_default();
  command.duration("--limit", flags->timeout, "Stop it after this long");
  command.example(
      "vortex exec -- make -C /srv/project test\n"
      "vortex exec --queue gpu --retries 2 -- ./train.sh");
  command.on_chosen(chosen, [flags](Context& context) { return execute(context, *flags); });
}

}  // namespace vortex::cli
