#pragma once
// Random runs to their end: a random DAG, workers that behave as a seed says, and a judge who looks
// at every grant and at the end.
//
// How the n-th try at a task ends depends on the seed and the task alone, never on the order of
// things, so two runs that differ only in timing must come to the same end.

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/core/harness.h"

namespace vortex::core {

struct DriverOptions {
  std::uint32_t kill_permille = 0;    // per move, that some worker dies and comes back
  std::uint32_t reload_permille = 0;  // per move, that the controller is replaced
  bool count_limits = true;           // maps may have max_failures: the end depends on timing
};

DagSpec random_dag(Rng& rng, const DriverOptions& options);

class Driver {
 public:
  Driver(std::uint64_t seed, const DriverOptions& options);

  // Moves at random until the run has ended. The first broken rule in words; empty: none.
  std::string run();

  // The final states of all tasks and of the run.
  std::string outcome() const;
  // A fingerprint of everything that was sent out or written.
  std::uint64_t history() const;

 private:
  void move();
  void move_worker(Hand& hand);
  void finish_some(Hand& hand, const Attempt& attempt);
  void kill_some();
  void look_at_grants();
  std::string broken_at_end() const;

  DriverOptions options_;
  Rng rng_;
  std::uint64_t behaviour_;
  World world_;
  RunId run_;
  std::set<Attempt> started_;
  std::string broken_;
};

}  // namespace vortex::core
