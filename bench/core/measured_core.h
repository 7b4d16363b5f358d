#pragma once
// The core with a virtual clock in front and a stopwatch around it, driven like an engine would.
//
// Rows and events of a step are dropped under the watch, as after a commit; building the command
// and reading the replies is the caller's work and not measured.

#include <cstdint>
#include <vector>

#include "bench/core/stopwatch.h"
#include "core/command.h"
#include "core/effects.h"
#include "core/state/state.h"

namespace vortex::bench {

class MeasuredCore {
 public:
  explicit MeasuredCore(const core::Policy& policy = {});

  std::vector<core::Reply> apply(const core::Command& command);
  // Ticks at the core's own pace until this much virtual time has passed.
  void let_pass(Duration time);
  // Ticks until all tasks of submitted maps are made, and those of ended runs are freed.
  void finish_bulk();

  core::State& state() { return state_; }
  Stopwatch& watch() { return watch_; }
  Instant now() const { return now_; }

 private:
  core::State state_;
  Stopwatch watch_;
  Instant now_;
};

// Bytes the allocator has given out and not got back, its own overhead included.
std::int64_t heap_bytes();

// For what can only be a mistake in the benchmark or in the core: says what, and ends the program.
[[noreturn]] void give_up(const char* what);

}  // namespace vortex::bench
