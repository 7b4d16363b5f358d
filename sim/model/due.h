#pragma once
// When things are due, from the definition of a task and the policy alone.
//
// Each function is the rule as the documentation has it. Jitter makes a span of a wait: nobody is
// handed out before the shorter end of it.

#include <cstdint>

#include "core/state/policy.h"
#include "model/dag.h"
#include "model/rows.h"

namespace vortex::sim {

struct Span {
  Duration least;
  Duration most;
};

// The wait before the next try, after so many ends of its kind.
Span backoff_after(const Backoff& backoff, std::uint32_t ends);

// The least that a task waits after an attempt that ended like this, by its counters since then.
Duration least_wait(const AttemptRow& end, const TaskRow& task, const NodeSpec& spec,
                    const core::Policy& policy);

// Handed out and not reported started: asked back after this. Never before its lease is over.
Duration start_limit(const NodeSpec& spec, const core::Policy& policy);
// Running: the worker ends it at its limit; the controller steps in where that did not happen.
Duration step_in_limit(const NodeSpec& spec, const core::Policy& policy);
// Without a sign of progress, once it has shown one or asks to be watched.
Duration stale_limit(const NodeSpec& spec, const core::Policy& policy);
// As far as rows tell: output that counts as a sign of life is in none of them.
enum class Watched : std::uint8_t { kNo, kPerhaps, kYes };
Watched watched(const TaskRow& task, const NodeSpec& spec, const core::Policy& policy);

}  // namespace vortex::sim
