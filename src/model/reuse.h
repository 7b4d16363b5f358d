#pragma once
// What a new run may keep of an earlier one: results that would come out the same again.
//
// A task keeps its result if it completed, its definition is the same, everything its expressions
// read of the params has the same value, and whatever it needs is as it was before. A map is kept
// as a whole or not at all. Tasks in `finally` always run; an approval counts only for the same DAG
// with the same params. Pure functions; cost is linear in DAGs and params.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/plan.h"
#include "model/states.h"

namespace vortex {

// All of what is kept is done in the step that makes the run, so there is an end to it.
inline constexpr std::size_t kKeptTasksMax = 20'000;
inline constexpr std::size_t kKeptBytesMax = std::size_t{64} << 20U;  // of outputs

struct KeptTask {
  std::string from;     // id of the earlier task
  std::string outputs;  // a JSON object; empty: none
};

struct KeptNode {
  std::uint32_t node = 0;       // of the new plan
  std::vector<KeptTask> tasks;  // by position
};

// What a submit hands to the core.
struct KeptResults {
  RunId run;                    // the earlier one
  std::vector<KeptNode> nodes;  // lowest first
};

// What the two runs are compared by.
struct RunFacts {
  PlanPtr plan;  // of the earlier run: laid out
  std::string_view params;
  Instant slot = kNever;
  Instant slot_end = kNever;
};

// By index of the task; unset: it was never made.
using TaskStates = std::vector<std::optional<TaskState>>;

struct KeptMatch {
  std::uint32_t node = 0;     // of the new plan
  std::uint32_t earlier = 0;  // of the earlier plan
};

// Lowest node first. `again`: nodes of the new plan that run again whatever they were before.
// Matches of maps without items are left out: there is nothing to take over.
std::vector<KeptMatch> match_kept(const RunFacts& now, const RunFacts& earlier,
                                  const TaskStates& states,
                                  const std::vector<std::uint32_t>& again);

}  // namespace vortex
