#pragma once
// `vortex bench workers` and `vortex bench history`: a controller at rest with many workers, and
// one with millions of finished tasks behind it. Figures are for people; ratios come from one run.

#include <cstdint>
#include <expected>
#include <string>

namespace vortex::cli::bench {

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
