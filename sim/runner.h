#pragma once
// Running one case and saying in a few words how it went.
//
// `run_isolated` does it in a process of its own, so a failed assertion of the code under test is a
// finding like any other and ends nothing else.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/case.h"
#include "sim/world.h"

namespace vortex::sim {

struct Failure {
  std::string invariant;
  std::string detail;
};

// What a process that died is reported as.
inline constexpr const char* kDied = "no assertion fails";

struct Outcome {
  std::optional<Failure> failure;
  std::uint64_t hash = 0;
  CommandCounts calls{};
};

// Runs the case, and when asked a second time to compare the histories.
enum class Twice : std::uint8_t { kNo, kYes };
Outcome run_checked(const Case& c, Twice twice);
Outcome run_isolated(const Case& c);

}  // namespace vortex::sim
