#include "api/timings.h"

#include <algorithm>

#include "core/state/policy.h"

namespace vortex::api {

std::vector<Timing> timings(const Settings& settings) {
  const core::Policy policy = core::make_policy(settings);
  const Duration lease = policy.worker_lease;
  const Duration tick = policy.sweep;
  const Duration retry = policy.retry.backoff.delay;
  // A worker that is asked to stop a task and never answers is believed after one full lease.
  const Duration stopped = lease + tick * 2;
  const Duration not_started = std::max(policy.scheduled_timeout, lease);
  const Duration executed =
      policy.execution_timeout + policy.kill_time + policy.heartbeat_interval * 2;
  return {
      {"proof",
       "The supervisor saw the worker exit, it registered again, or an operator declared it dead.",
       "immediate: reclaimed as soon as the proof arrives", Duration{}},
      {"hint", "The worker's connection closed and its address refuses connections.",
       "reconnect_grace + sweep_interval", policy.reconnect_grace + tick},
      {"silence", "The worker is silent.", "heartbeat_timeout + sweep_interval", lease + tick},
      {"not_started", "A live worker was assigned the task and never starts it.",
       "max(scheduled_timeout, heartbeat_timeout) + heartbeat_timeout + 2 x sweep_interval",
       not_started + stopped},
      {"stale", "A live worker runs the task, which no longer shows progress.",
       "task_stale_timeout + heartbeat_timeout + 2 x sweep_interval + first retry delay",
       policy.stale_after + stopped + retry},
      {"execution", "A live worker runs the task for longer than allowed.",
       "task_timeout + kill_grace + 2 x heartbeat_interval + heartbeat_timeout + "
       "2 x sweep_interval + first retry delay",
       executed + stopped + retry},
  };
}

}  // namespace vortex::api
