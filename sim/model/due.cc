#include "sim/model/due.h"

#include <algorithm>

namespace vortex::sim {

namespace {

// The first returns of a task are free: work that is held ahead changes hands like that.
constexpr std::uint32_t kReturnsWithoutWait = 3;

}  // namespace

Span backoff_after(const Backoff& backoff, std::uint32_t ends) {
  // Grown step by step and never beyond the limit, so nothing can overflow.
  std::int64_t full = std::min(backoff.delay.us, backoff.max_delay.us);
  for (std::uint32_t n = 1; n < ends && backoff.kind != BackoffKind::kFixed; ++n) {
    full += backoff.kind == BackoffKind::kLinear ? backoff.delay.us : full;
    full = std::min(full, backoff.max_delay.us);
  }
  return {{full - full / 1000 * backoff.jitter_permille}, {full}};
}

Duration least_wait(const AttemptRow& end, const TaskRow& task, const NodeSpec& spec,
                    const core::Policy& policy) {
  const Backoff& own = (spec.retry ? *spec.retry : policy.retry).backoff;
  switch (end.verdict) {
    case Verdict::kExitCode:
    case Verdict::kSignal:
    case Verdict::kOutOfMemory:
    case Verdict::kCouldNotStart:
      return backoff_after(own, task.counters.failures).least;
    case Verdict::kExecutionTimeout:
    case Verdict::kStale:
      return backoff_after(own, task.counters.stalls).least;
    case Verdict::kNotStartedInTime:
      return backoff_after(own, task.counters.unstarted).least;
    case Verdict::kSelfFenced:
    case Verdict::kLostInTransit:
    case Verdict::kGivenBack:
      if (task.counters.releases <= kReturnsWithoutWait) return {};
      return backoff_after(policy.retry.backoff, task.counters.releases - kReturnsWithoutWait)
          .least;
    default:
      return {};  // lost with its worker, or drained: at once
  }
}

Duration start_limit(const NodeSpec& spec, const core::Policy& policy) {
  return std::max(spec.scheduled_timeout.value_or(policy.scheduled_timeout), policy.worker_lease);
}

Duration step_in_limit(const NodeSpec& spec, const core::Policy& policy) {
  return spec.execution_timeout.value_or(policy.execution_timeout) + policy.kill_time +
         policy.heartbeat_interval * 2;
}

Duration stale_limit(const NodeSpec& spec, const core::Policy& policy) {
  return spec.stale_after.value_or(policy.stale_after);
}

Watched watched(const TaskRow& task, const NodeSpec& spec, const core::Policy& policy) {
  if (spec.stale_counts.output) return Watched::kPerhaps;
  const bool spoke = spec.stale_counts.progress && (task.percent > 0 || !task.step.empty());
  const bool always = spec.stale_after || policy.stale_for_all;
  return always || spoke ? Watched::kYes : Watched::kNo;
}

}  // namespace vortex::sim
