#include <expected>
#include <memory>
#include <string>

#include "cli/bench/engine_bench.h"
#include "cli/bench/other_benches.h"
#include "cli/bench/spawn_bench.h"
#include "cli/command_spec.h"
#include "cli/commands.h"

namespace vortex::cli {
namespace {

ExitCode finish(const std::expected<void, std::string>& done) {
  if (done) return ExitCode::kOk;
  complain(done.error());
  return ExitCode::kFailed;
}

void add_engine(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::EngineBench>();
  CommandSpec engine =
      parent.command("engine", "No-op tasks through a whole controller, beside bare SQLite");
  engine.option("--tasks", options->tasks, "Tasks of the run").between(1, 1'000'000);
  engine.option("--agents", options->agents, "Agents that take them").between(1, 1'000);
  engine.option("--slots", options->slots, "Tasks an agent holds at once").between(1, 100'000);
  engine.example("vortex bench engine --tasks 100000 --agents 4");
  engine.on_chosen(chosen,
                   [options](Context&) { return finish(bench::run_engine_bench(*options)); });
}

void add_workers_bench(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::WorkersBench>();
  CommandSpec workers = parent.command("workers", "A controller at rest with many workers");
  workers.option("--workers", options->workers, "How many").between(1, 10'000);
  workers.option("--seconds", options->seconds, "How long to watch").between(1, 3'600);
  workers.example("vortex bench workers --workers 100 --seconds 20");
  workers.on_chosen(chosen,
                    [options](Context&) { return finish(bench::run_workers_bench(*options)); });
}

void add_history(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::HistoryBench>();
  CommandSpec history =
      parent.command("history", "Throughput with millions of finished tasks in the file");
  history.option("--finished", options->finished, "Finished tasks to begin with");
  history.option("--tasks", options->tasks, "Tasks of the measured run").between(1, 1'000'000);
  history.example("vortex bench history --finished 1000000");
  history.on_chosen(chosen,
                    [options](Context&) { return finish(bench::run_history_bench(*options)); });
}

void add_spawn(CommandSpec parent, Command& chosen) {
  auto options = std::make_shared<bench::SpawnBench>();
  CommandSpec spawn = parent.command(
      "spawn", "`true` many times through controller and workers, beside bare posix_spawn");
  spawn.option("--tasks", options->tasks, "Tasks of one round").between(1, 1'000'000);
  spawn.option("--workers", options->workers, "Worker processes").between(1, 100);
  spawn.option("--slots", options->slots, "Tasks at once in all").between(1, 1'000);
  spawn.option("--rounds", options->rounds, "The median of so many counts").between(1, 100);
  spawn.example("vortex bench spawn --tasks 2000 --slots 4");
  spawn.on_chosen(chosen, [options](Context&) { return finish(bench::run_spawn_bench(*options)); });
}

}  // namespace

void add_bench(CommandSpec app, Command& chosen) {
  CommandSpec bench =
      app.command("bench", "Measure this machine with vortex on it").group(kOperate);
  bench.needs_command();
  bench.example("vortex bench engine --tasks 100000");
  add_engine(bench, chosen);
  add_workers_bench(bench, chosen);
  add_history(bench, chosen);
  add_spawn(bench, chosen);
}

}  // namespace vortex::cli
