#pragma once
// Readiness: from the end of a task to the nodes it lets start, skips, or completes.
//
// Driven by counters, never by scans. Ends are gathered and worked off by `settle` in a loop, so
// that a long chain of consequences needs no deep stack.

#include "core/context.h"
#include "core/transitions.h"

namespace vortex::core {

// The task is in no list and held by nobody; makes it final and counts that.
void finish_task(Context& cx, TaskIx ix, TaskEvent event, TaskState outcome);

// What the trigger rule says of a node, by how its needs have ended so far.
enum class RuleSays : std::uint8_t { kWait, kStart, kNever };
RuleSays judge_rule(TriggerRule rule, std::uint32_t needs, const NodeRun& node);

// Looks at a pending node and starts it, gates it, skips it or leaves it.
void consider_node(Context& cx, RunIx run, std::uint32_t node);

// A run with such a node did not do all it was asked to, so it does not end Completed.
constexpr bool spoils_run(NodeOutcome outcome) {
  return outcome == NodeOutcome::kFailed || outcome == NodeOutcome::kCancelled;
}

// Called when the node may have no open task left.
void check_node_ended(Context& cx, RunIx run, std::uint32_t node);

// Works off the nodes that ended in this step and what that lets start.
void settle_nodes(Context& cx);

// The same, up to finished runs; leaves in runs_ended just those that really are.
void settle(Context& cx);

// A map stops at too many failures: nothing more is made or started, what runs goes on.
void check_map_failures(Context& cx, RunIx run, std::uint32_t node);

}  // namespace vortex::core
