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
};

std::expected<void, std::string> run_engine_bench(const EngineBench& bench);

}  // namespace vortex::cli::bench
