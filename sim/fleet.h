#pragma once
// Many seeds on all cores: forked workers take the next seed until none is left.
//
// A worker that dies (a failed assertion) is a finding for its seed and is replaced. Marks reached
// are summed over all of them.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/runner.h"

namespace vortex::sim {

struct FailedSeed {
  std::uint64_t seed = 0;
  Failure failure;
};

struct FleetOrder {
  std::uint64_t from = 1;
  std::uint64_t seeds = 1;
  std::uint32_t jobs = 1;
  // Called for the first failures while the others still run.
  std::function<void(const FailedSeed&)> told = {};
};

struct FleetReport {
  std::uint64_t violations = 0;      // seeds that failed
  std::vector<FailedSeed> failures;  // the first ones, lowest seed first
  std::map<std::string, std::uint64_t> marks;
  CommandCounts calls{};
};

FleetReport run_fleet(const FleetOrder& order);

}  // namespace vortex::sim
