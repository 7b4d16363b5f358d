#include "core/policy.h"

#include <algorithm>

namespace vortex::core {

Policy make_policy(const Settings& settings) {
  const ControllerSettings& c = settings.controller;
  Policy policy;
  policy.worker_lease = c.heartbeat_timeout;
  policy.heartbeat_interval = settings.worker.heartbeat_interval;
  policy.kill_time = settings.worker.kill_grace;
  policy.self_fence = settings.worker.self_fence;
  policy.scheduled_timeout = c.scheduled_timeout;
  policy.execution_timeout = c.task_timeout;
  policy.stale_after = c.task_stale_timeout;
  policy.stale_for_all = c.task_stale_for_all;
  policy.reconnect_grace = c.reconnect_grace;
  policy.worker_queue_ttl = c.worker_queue_ttl;
  policy.keep_away = std::min(policy.keep_away, c.heartbeat_timeout / 2);
  policy.partition_lease = c.partition_lease;
  // One tick looks after every deadline, so the closer of the two limits holds for all of them.
  policy.sweep = std::min(c.sweep_interval, c.timeout_check_interval);
  policy.health_check_interval = c.health_check_interval;
  policy.reconcile_interval = c.reconcile_interval;
  policy.retain_workers = hours(24) * settings.database.retain_workers_days;
  policy.retain_leases = hours(24) * settings.database.retain_leases_days;
  policy.retry.max_retries = static_cast<std::uint16_t>(c.max_task_retries);
  policy.crash_limit = static_cast<std::uint16_t>(c.crash_limit);
  policy.cordon_after = static_cast<std::uint16_t>(c.worker_cordon_after);
  policy.flapping_losses = static_cast<std::uint16_t>(c.flapping_losses);
  policy.flapping_window = c.flapping_window;
  policy.upload_bytes_max = std::uint64_t{c.checkpoint_max_mib} << 20U;
  policy.dag_limits.tasks_max = c.max_tasks_per_run;
  policy.dag_limits.nodes_max = c.max_dag_nodes;
  policy.dag_limits.needs_max = c.max_dag_needs;
  policy.dag_limits.depth_max = c.max_dag_depth;
  return policy;
}

}  // namespace vortex::core
