// The core decides by what the settings say: every setting that it uses arrives, each in its own
// place.

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

// Values that differ from each other and from every default, so that none can stand in for another.
TEST(Policy, TakesEveryTimeFromItsSetting) {
  Settings settings = default_settings();
  ControllerSettings& c = settings.controller;
  c.heartbeat_timeout = seconds(61);
  settings.worker.heartbeat_interval = seconds(7);
  settings.worker.kill_grace = seconds(11);
  settings.worker.self_fence = seconds(37);
  c.scheduled_timeout = seconds(301);
  c.task_timeout = seconds(3601);
  c.task_stale_timeout = seconds(601);
  c.reconnect_grace = seconds(3);
  c.worker_queue_ttl = seconds(303);
  c.partition_lease = seconds(31);
  c.health_check_interval = seconds(17);
  c.reconcile_interval = seconds(67);
  c.worker_probation_after = seconds(307);
  c.flapping_window = seconds(3607);
  settings.database.retain_workers_days = 5;
  settings.database.retain_leases_days = 6;
  const Policy policy = make_policy(settings);
  EXPECT_EQ(policy.worker_lease, seconds(61));
  EXPECT_EQ(policy.heartbeat_interval, seconds(7));
  EXPECT_EQ(policy.kill_time, seconds(11));
  EXPECT_EQ(policy.self_fence, seconds(37));
  EXPECT_EQ(policy.scheduled_timeout, seconds(301));
  EXPECT_EQ(policy.execution_timeout, seconds(3601));
  EXPECT_EQ(policy.stale_after, seconds(601));
  EXPECT_EQ(policy.reconnect_grace, seconds(3));
  EXPECT_EQ(policy.worker_queue_ttl, seconds(303));
  EXPECT_EQ(policy.partition_lease, seconds(31));
  EXPECT_EQ(policy.health_check_interval, seconds(17));
  EXPECT_EQ(policy.reconcile_interval, seconds(67));
  EXPECT_EQ(policy.probation_after, seconds(307));
  EXPECT_EQ(policy.flapping_window, seconds(3607));
  EXPECT_EQ(policy.retain_workers, hours(5 * 24));
  EXPECT_EQ(policy.retain_leases, hours(6 * 24));
}

TEST(Policy, TakesEveryCountFromItsSetting) {
  Settings settings = default_settings();
  ControllerSettings& c = settings.controller;
  c.max_task_retries = 13;
  c.crash_limit = 14;
  c.worker_cordon_after = 15;
  c.worker_cordon_share = 16;
  c.flapping_losses = 17;
  c.checkpoint_max_mib = 18;
  c.outputs_max_kib = 19;
  c.max_tasks_per_run = 19;
  c.max_dag_nodes = 20;
  c.max_dag_needs = 21;
  c.max_dag_depth = 22;
  const Policy policy = make_policy(settings);
  EXPECT_EQ(policy.retry.max_retries, 13);
  EXPECT_EQ(policy.crash_limit, 14);
  EXPECT_EQ(policy.cordon_after, 15);
  EXPECT_EQ(policy.cordon_share_percent, 16U);
  EXPECT_EQ(policy.flapping_losses, 17);
  EXPECT_EQ(policy.upload_bytes_max, 18U * 1024 * 1024);
  EXPECT_EQ(policy.outputs_bytes_max, 19U * 1024);
  EXPECT_EQ(policy.dag_limits.tasks_max, 19U);
  EXPECT_EQ(policy.dag_limits.nodes_max, 20U);
  EXPECT_EQ(policy.dag_limits.needs_max, 21U);
  EXPECT_EQ(policy.dag_limits.depth_max, 22U);
}

TEST(Policy, KeepsTheQuotasOfAllAndOfOneTokenApart) {
  Settings settings = default_settings();
  ControllerSettings& c = settings.controller;
  c.quota_runs = 23;
  c.quota_tasks = 24;
  c.quota_mib = 25;
  c.token_quota_runs = 26;
  c.token_quota_tasks = 27;
  c.token_quota_mib = 28;
  const Policy policy = make_policy(settings);
  EXPECT_EQ(policy.quota.runs, 23U);
  EXPECT_EQ(policy.quota.tasks, 24U);
  EXPECT_EQ(policy.quota.bytes, 25U * 1024 * 1024);
  EXPECT_EQ(policy.quota_per_token.runs, 26U);
  EXPECT_EQ(policy.quota_per_token.tasks, 27U);
  EXPECT_EQ(policy.quota_per_token.bytes, 28U * 1024 * 1024);
}

TEST(Policy, WatchesSilentTasksOnlyWhenTold) {
  Settings settings = default_settings();
  settings.controller.task_stale_for_all = false;
  EXPECT_FALSE(make_policy(settings).stale_for_all);
  settings.controller.task_stale_for_all = true;
  EXPECT_TRUE(make_policy(settings).stale_for_all);
}

// A retry never waits longer for another worker than it takes to notice that there is none.
TEST(Policy, WaitsForAnotherWorkerForHalfALeaseAtMost) {
  Settings settings = default_settings();
  settings.controller.heartbeat_timeout = seconds(4);
  EXPECT_EQ(make_policy(settings).keep_away, seconds(2));
  settings.controller.heartbeat_timeout = seconds(60);
  EXPECT_EQ(make_policy(settings).keep_away, seconds(5));
}

}  // namespace
}  // namespace vortex::core
