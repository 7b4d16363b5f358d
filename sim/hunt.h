#pragma once
// Looks for a first violation: directed scenarios in turn, each with new seeds, and the swarm
// between.
//
// The order of cases is fixed, so the n-th case is the same in every run. It stops at the first
// violation and makes nothing smaller: whoever plants a mistake wants to know whether it is found.

#include <cstdint>
#include <vector>

#include "sim/case.h"

namespace vortex::sim {

// The n-th case after the seed `from`.
Case hunted_case(std::uint64_t from, std::uint64_t n);

struct HuntOrder {
  std::uint64_t from = 1;
  std::uint64_t budget = 300;
  std::vector<std::uint64_t> only;  // positions; empty: all below the budget
};

// Prints `tried=N found=INVARIANT|nothing seed=S scenario=NAME`; the program's exit code.
int run_hunt(const HuntOrder& order);

}  // namespace vortex::sim
