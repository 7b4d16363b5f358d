#pragma once
// Lives of no-op tasks as commits, the way a controller writes them: Queued, handed out, completed
// with an attempt and about three events each.
//
// Made before the clock is started, so that only the store is measured.

#include <cstdint>
#include <string>
#include <vector>

#include "model/commit.h"

namespace vortex::bench {

PlanPtr wide_plan(std::uint32_t tasks);

class Lives {
 public:
  Lives(PlanPtr plan, Term term);

  Commit submit();  // the run itself, before any of its tasks
  Commit queue(std::uint32_t first, std::uint32_t end);
  Commit hand_out(std::uint32_t first, std::uint32_t end);
  Commit complete(std::uint32_t first, std::uint32_t end);

 private:
  Commit start();
  TaskRow row(std::uint32_t index, TaskState state) const;
  void tell(Commit& commit, std::uint32_t index, const char* event, const char* data);
  void count(Commit& commit, std::uint32_t tasks, TaskState from, TaskState to);

  PlanPtr plan_;
  Term term_;
  RunRow run_;
  CounterRow counters_;
  Instant now_{1'771'800'000'000'000};
};

}  // namespace vortex::bench
