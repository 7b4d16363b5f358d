#pragma once
// `true`, many times: through a controller, workers and real processes, beside a bare loop of
// posix_spawn and wait with the same number at once, in the same run.

#include <cstdint>
#include <expected>
#include <string>

namespace vortex::cli::bench {

struct SpawnBench {
  std::uint32_t tasks = 2'000;
  std::uint32_t workers = 2;
  std::uint32_t slots = 4;  // in all
  std::uint32_t rounds = 9;
};

// Prints a table and one line of JSON.
std::expected<void, std::string> run_spawn_bench(const SpawnBench& bench);

}  // namespace vortex::cli::bench
