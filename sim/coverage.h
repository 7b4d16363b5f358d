#pragma once
// What the product can do, how often a seed draws it, and which checker judges it.
//
// The list is the claim; tests/sim/coverage_test.cc holds it: every command, fault and act is in
// it, each is drawn by some seed, and each names a checker that exists. `vortex-sim --coverage`
// prints it for docs/simulator.md.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "core/command.h"
#include "sim/setup.h"

namespace vortex::sim {

inline constexpr std::size_t kCommands = std::variant_size_v<core::Command>;
using CommandCounts = std::array<std::uint64_t, kCommands>;  // calls, by alternative

struct Feature {
  std::string_view group;
  std::string_view name;
  std::string_view checked_by;  // names of checkers, parted by blanks
  std::uint64_t (*count)(const Setup& setup);
};
// Settings, DAG features, faults and what clients do, all decided before a run starts.
std::span<const Feature> features();

struct CommandFeature {
  std::string_view name;
  std::string_view checked_by;
  // Nobody calls it: the controller asks itself. Or why it is not drawn.
  std::string_view from_inside = {};
};
// By alternative of core::Command.
std::span<const CommandFeature, kCommands> command_features();

}  // namespace vortex::sim
