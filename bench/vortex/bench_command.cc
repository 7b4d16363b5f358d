#include "bench/vortex/bench_command.h"

#include <expected>
#include <memory>
#include <string>

#include "bench/vortex/benches.h"
#include "cli/arguments.h"

namespace vortex::cli {
namespace {

ExitCode finish(const std::expected<void, std::string>& done) {
  if (done) return ExitCode::kOk;
  complain(done.error());
  return ExitCode::kFailed;
}

void add_engine(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::EngineBench>();
  CommandSpec engine = parent.command(
      "engine",
      "Run no-op tasks through a whole controller, compared with a bare loop over the database");
  engine.option("--tasks", options->tasks, "Number of tasks").between(1, 1'000'000);
  engine.option("--agents", options->agents, "Number of agents that run them").between(1, 1'000);
  engine.option("--slots", options->slots, "Tasks that an agent holds at once").between(1, 100'000);
  engine.flag("--tls", options->tls,
              "Compare TLS and tokens with neither, in turn, instead of bare SQLite (tls_ratio)");
  engine.example(
      "vortex bench engine --tasks 100000 --agents 4\n"
      "vortex bench engine --database.url=postgresql://vortex@db/vortex");
  engine.on_chosen(chosen, [options](Context& context) {
    const auto loaded = load(context);
    if (!loaded) return ExitCode::kInvalid;
    options->database_url = loaded->settings.database.url;
    return finish(bench::run_engine_bench(*options));
  });
}

void add_workers_bench(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::WorkersBench>();
  CommandSpec workers = parent.command("workers", "Measure an idle controller with many workers");
  workers.option("--workers", options->workers, "Number of workers").between(1, 10'000);
  workers.option("--seconds", options->seconds, "Duration of the measurement").between(1, 3'600);
  workers.example("vortex bench workers --workers 100 --seconds 20");
  workers.on_chosen(chosen,
                    [options](Context&) { return finish(bench::run_workers_bench(*options)); });
}

void add_history(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::HistoryBench>();
  CommandSpec history =
      parent.command("history", "Measure throughput with millions of finished tasks in the file");
  history.option("--finished", options->finished, "Number of finished tasks to start with");
  history.option("--tasks", options->tasks, "Number of tasks in the measured run")
      .between(1, 1'000'000);
  history.example("vortex bench history --finished 1000000");
  history.on_chosen(chosen,
                    [options](Context&) { return finish(bench::run_history_bench(*options)); });
}

void add_spawn(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::SpawnBench>();
  CommandSpec spawn = parent.command(
      "spawn",
      "Run `true` many times through controller and workers, compared with bare posix_spawn");
  spawn.option("--tasks", options->tasks, "Number of tasks per round").between(1, 1'000'000);
  spawn.option("--workers", options->workers, "Number of worker processes").between(1, 100);
  spawn.option("--slots", options->slots, "Total number of concurrent tasks").between(1, 1'000);
  spawn.option("--rounds", options->rounds, "Number of rounds; the median counts").between(1, 100);
  spawn.flag("--tls", options->tls,
             "Run each round also with TLS and tokens, and print tls_ratio (with / without)");
  spawn.example("vortex bench spawn --tasks 2000 --slots 4");
  spawn.on_chosen(chosen, [options](Context&) { return finish(bench::run_spawn_bench(*options)); });
}

void add_submit(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::SubmitBench>();
  CommandSpec submit = parent.command(
      "submit", "Submit runs one by one and many in one call, compared with a bare SQLite loop");
  submit.option("--runs", options->runs, "Number of runs each way").between(1'000, 1'000'000);
  submit.option("--connections", options->connections, "Connections that submit one by one")
      .between(1, 1'000);
  submit.option("--batch", options->batch, "Runs in one call").between(2, 10'000);
  submit.example("vortex bench submit --runs 50000 --connections 64");
  submit.on_chosen(chosen,
                   [options](Context&) { return finish(bench::run_submit_bench(*options)); });
}

void add_limits_bench(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::LimitsBench>();
  CommandSpec limits = parent.command(
      "limits", "Run many keys under a limit of 1, compared with the same load without limits");
  limits.option("--runs", options->runs, "Number of runs per round").between(1'000, 1'000'000);
  limits.option("--keys", options->keys, "Number of keys").between(1, 1'000'000);
  limits.example("vortex bench limits --keys 10000");
  limits.on_chosen(chosen,
                   [options](Context&) { return finish(bench::run_limits_bench(*options)); });
}

}  // namespace

void add_bench(CommandSpec app, Command& chosen) {
  CommandSpec bench =
      app.command("bench", "Measure the performance of vortex on this machine").group(kOperate);
  bench.needs_command();
  bench.example("vortex bench engine --tasks 100000");
  add_engine(bench, chosen);
  add_workers_bench(bench, chosen);
  add_history(bench, chosen);
  add_spawn(bench, chosen);
  add_submit(bench, chosen);
  add_limits_bench(bench, chosen);
}

}  // namespace vortex::cli
