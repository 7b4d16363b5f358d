#include "sim/mutants.h"

#include <fmt/format.h>

#include "base/planted.h"
#include "sim/hunt.h"
#include "sim/runner.h"

#ifdef VX_PLANTED_BUGS
#include <algorithm>
#include <array>
#include <map>
#include <new>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#endif

namespace vortex::sim {

#ifndef VX_PLANTED_BUGS

int run_mutants(const MutantOrder&) {
  fmt::print(stderr, "this build has no planted bugs; use vortex-sim-planted\n");
  return 2;
}

#else

namespace {

constexpr auto kBugs = static_cast<std::size_t>(PlantedBug::kCount);
constexpr std::uint64_t kControlSeeds = 500;

struct Hunt {
  bool found = false;
  std::uint64_t tried = 0;
  std::uint64_t seed = 0;
  Scenario scenario = Scenario::kSwarm;
  std::array<char, 120> invariant{};
};
using Hunts = std::array<Hunt, kBugs>;

[[noreturn]] void hunt(Hunts& hunts, std::size_t bug, const MutantOrder& order) {
  planted_bug = static_cast<PlantedBug>(bug);
  Hunt& mine = hunts[bug];
  const std::uint64_t budget = bug == 0 ? std::min(order.budget, kControlSeeds) : order.budget;
  for (std::uint64_t n = 0; n < budget; ++n) {
    const Case c = hunted_case(order.from, n);
    mine.tried = n + 1;
    mine.seed = c.seed;
    mine.scenario = c.scenario;
    const Outcome outcome = run_checked(c, Twice::kNo);
    if (!outcome.failure) continue;
    mine.found = true;
    outcome.failure->invariant.copy(mine.invariant.data(), mine.invariant.size() - 1);
    break;
  }
  ::_exit(0);
}

void reap(Hunts& hunts, std::map<pid_t, std::size_t>& running) {
  int status = 0;
  const pid_t child = ::waitpid(-1, &status, 0);
  const std::size_t bug = running[child];
  running.erase(child);
  if (WIFEXITED(status)) return;
  // It ran into an assertion of the core: found, if crudely.
  hunts[bug].found = true;
  std::string_view(kDied).copy(hunts[bug].invariant.data(), hunts[bug].invariant.size() - 1);
}

int print_table(const Hunts& hunts) {
  fmt::print("{:<40} {:<40} {:>8} {:<24} {:>6}\n", "planted bug", "found by", "seed", "scenario",
             "tried");
  std::size_t found = 0;
  for (std::size_t bug = 1; bug < kBugs; ++bug) {
    const Hunt& h = hunts[bug];
    found += h.found ? 1 : 0;
    fmt::print("{:<40} {:<40} {:>8} {:<24} {:>6}\n", kPlantedBugNames[bug],
               h.found ? h.invariant.data() : "NOT FOUND", h.seed, to_text(h.scenario), h.tried);
  }
  // A simulator that cries over the right code as well has found nothing.
  const Hunt& control = hunts[0];
  fmt::print("{:<40} {:<40} {:>8} {:<24} {:>6}\n", "control: none planted",
             control.found ? control.invariant.data() : "clean", control.seed,
             to_text(control.scenario), control.tried);
  fmt::print("mutants={} found={}\n", kBugs - 1, found);
  return found == kBugs - 1 && !control.found ? 0 : 1;
}

}  // namespace

int run_mutants(const MutantOrder& order) {
  void* memory =
      ::mmap(nullptr, sizeof(Hunts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  VX_ASSERT(memory != MAP_FAILED);
  auto& hunts = *new (memory) Hunts;
  std::map<pid_t, std::size_t> running;
  for (std::size_t bug = 0; bug < kBugs; ++bug) {
    if (running.size() >= order.jobs) reap(hunts, running);
    const pid_t child = ::fork();
    VX_ASSERT(child >= 0);
    if (child == 0) hunt(hunts, bug, order);
    running[child] = bug;
  }
  while (!running.empty()) reap(hunts, running);
  const int code = print_table(hunts);
  ::munmap(memory, sizeof(Hunts));
  return code;
}

#endif

}  // namespace vortex::sim
