#include <expected>
#include <memory>
#include <string>

#include "cli/bench/engine_bench.h"
#include "cli/bench/other_benches.h"
#include "cli/bench/spawn_bench.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace vortex::cli {
namespace {

ExitCode finish(const std::expected<void, std::string>& done) {
  if (done) return ExitCode::kOk;
  complain(done.error());
  return ExitCode::kFailed;
}

void add_engine(CLI::App& parent, Command& chosen) {
  auto options = std::make_shared<bench::EngineBench>();
  CLI::App* engine =
      parent.add_subcommand("engine", "No-op tasks through a whole controller, beside bare SQLite");
  engine->add_option("--tasks", options->tasks, "Tasks of the run")
      ->check(CLI::Range(1, 1'000'000));
  engine->add_option("--agents", options->agents, "Agents that take them")
      ->check(CLI::Range(1, 1'000));
  engine->add_option("--slots", options->slots, "Tasks an agent holds at once")
      ->check(CLI::Range(1, 100'000));
  example(*engine, "vortex bench engine --tasks 100000 --agents 4");
  engine->callback([&chosen, options] {
    chosen = [options](Context&) { return finish(bench::run_engine_bench(*options)); };
  });
}

void add_workers_bench(CLI::App& parent, Command& chosen) {
  auto options = std::make_shared<bench::WorkersBench>();
  CLI::App* workers = parent.add_subcommand("workers", "A controller at rest with many workers");
  workers->add_option("--workers", options->workers, "How many")->check(CLI::Range(1, 10'000));
  workers->add_option("--seconds", options->seconds, "How long to watch")
      ->check(CLI::Range(1, 3'600));
  example(*workers, "vortex bench workers --workers 100 --seconds 20");
  workers->callback([&chosen, options] {
    chosen = [options](Context&) { return finish(bench::run_workers_bench(*options)); };
  });
}

void add_history(CLI::App& parent, Command& chosen) {
  auto options = std::make_shared<bench::HistoryBench>();
  CLI::App* history =
      parent.add_subcommand("history", "Throughput with millions of finished tasks in the file");
  history->add_option("--finished", options->finished, "Finished tasks to begin with");
  history->add_option("--tasks", options->tasks, "Tasks of the measured run")
      ->check(CLI::Range(1, 1'000'000));
  example(*history, "vortex bench history --finished 1000000");
  history->callback([&chosen, options] {
    chosen = [options](Context&) { return finish(bench::run_history_bench(*options)); };
  });
}

void add_spawn(CLI::App& parent, Command& chosen) {
  auto options = std::make_shared<bench::SpawnBench>();
  CLI::App* spawn = parent.add_subcommand(
      "spawn", "`true` many times through controller and workers, beside bare posix_spawn");
  spawn->add_option("--tasks", options->tasks, "Tasks of one round")
      ->check(CLI::Range(1, 1'000'000));
  spawn->add_option("--workers", options->workers, "Worker processes")->check(CLI::Range(1, 100));
  spawn->add_option("--slots", options->slots, "Tasks at once in all")->check(CLI::Range(1, 1'000));
  spawn->add_option("--rounds", options->rounds, "The median of so many counts")
      ->check(CLI::Range(1, 100));
  example(*spawn, "vortex bench spawn --tasks 2000 --slots 4");
  spawn->callback([&chosen, options] {
    chosen = [options](Context&) { return finish(bench::run_spawn_bench(*options)); };
  });
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure this machine with vortex on it")->group(kOperate);
  bench->require_subcommand(1);
  example(*bench, "vortex bench engine --tasks 100000");
  add_engine(*bench, chosen);
  add_workers_bench(*bench, chosen);
  add_history(*bench, chosen);
  add_spawn(*bench, chosen);
}

}  // namespace vortex::cli
