#pragma once
// The test of the simulator itself: every planted bug must be found, or the simulator is blind.
// It is the test of the simulator itself: what it cannot find, it does not prove.

#include <cstdint>

namespace vortex::sim {

struct MutantOrder {
  std::uint64_t from = 1;
  std::uint64_t budget = 3000;  // seeds per bug
  std::uint32_t jobs = 1;
};

// Prints a table and `mutants=K found=F`; the program's exit code. Refuses in a build without
// planted bugs.
int run_mutants(const MutantOrder& order);

}  // namespace vortex::sim
