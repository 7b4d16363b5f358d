#pragma once
// `vortex bench engine`: what a whole controller does with no-op tasks, beside a bare SQLite loop.
//
// A controller in its own process, agents over real TCP, no task processes. All figures of one
// print come from one run on one machine; only the ratios travel to another.

#include <cstdint>
#include <expected>
#include <string>

namespace vortex::cli::bench {

struct EngineBench {
  std::uint64_t tasks = 100'000;
  std::uint32_t agents = 4;
  std::uint32_t slots = 500;
  bool tls = false;  // measure the same with TLS and tokens, in turn, instead of bare SQLite
  // A PostgreSQL database to measure instead of SQLite; it gets schemas of its own, which are
  // removed at the end. Empty: SQLite.
  std::string database_url = {};
};

std::expected<void, std::string> run_engine_bench(const EngineBench& bench);

// `true`, many times: through a controller, workers and real processes, beside a bare loop of
// posix_spawn and wait with the same number at once, in the same run.

struct SpawnBench {
  std::uint32_t tasks = 2'000;
  std::uint32_t workers = 2;
  std::uint32_t slots = 4;  // in all
  std::uint32_t rounds = 9;
  bool tls = false;  // the same with TLS and tokens, in turn
};

// Prints a table and one line of JSON.
std::expected<void, std::string> run_spawn_bench(const SpawnBench& bench);

// `vortex bench submit`: runs of one task, submitted one by one over many connections and then many
// in one call, beside a bare loop of the lives of as many tasks.

struct SubmitBench {
  std::uint64_t runs = 50'000;
  std::uint32_t connections = 64;
  std::uint32_t batch = 1'000;
};
std::expected<void, std::string> run_submit_bench(const SubmitBench& bench);

// `vortex bench limits`: runs of one task over many keys, each under a limit of 1, beside the same
// without limits, in turn.

struct LimitsBench {
  std::uint64_t runs = 50'000;
  std::uint32_t keys = 10'000;
};
std::expected<void, std::string> run_limits_bench(const LimitsBench& bench);

// `vortex bench workers` and `vortex bench history`: a controller at rest with many workers, and
// one with millions of finished tasks behind it. Figures are for people; ratios come from one run.

struct WorkersBench {
  std::uint32_t workers = 1'000;
  std::uint32_t seconds = 30;
};
std::expected<void, std::string> run_workers_bench(const WorkersBench& bench);

struct HistoryBench {
  std::uint64_t finished = 5'000'000;
  std::uint64_t tasks = 100'000;
};
std::expected<void, std::string> run_history_bench(const HistoryBench& bench);

}  // namespace vortex::cli::bench
