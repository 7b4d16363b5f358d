#pragma once
// One run of no-op tasks through a controller that is already up, and what it cost.
//
// While it runs, somebody else looks at the run, walks through its tasks and asks for the health,
// as a user would; how long those requests wait is measured too.

#include <cstdint>
#include <expected>
#include <string>

#include "cli/local/cluster.h"

namespace vortex::cli::bench {

struct DriveConfig {
  std::uint64_t tasks = 100'000;
  std::uint32_t agents = 4;
  std::uint32_t slots = 500;
};

struct Throughput {
  double seconds = 0;
  double controller_cpu = 0;
  double agents_cpu = 0;
  double commits = 0;
  double rows = 0;
  std::uint64_t resident_max = 0;
  std::uint64_t requests = 0;
  double requests_p99_ms = 0;
  double requests_max_ms = 0;
};

std::expected<Throughput, std::string> drive(const DriveConfig& config,
                                             local::ControllerProcess& child);

}  // namespace vortex::cli::bench
