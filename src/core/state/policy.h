#pragma once
// The numbers the core decides by, fixed for one term.
//
// Built from the settings (base/settings.h), which have already refused combinations that break
// the timing rules; the core relies on them and does not check again.

#include <cstdint>

#include "base/settings.h"
#include "base/time.h"
#include "model/dag.h"
#include "model/plan.h"

namespace vortex::core {

// What live runs may take up together; 0: no limit.
struct Quota {
  std::uint64_t runs = 0;
  std::uint64_t tasks = 0;
  std::uint64_t bytes = 0;
};

struct Policy {
  Duration worker_lease = seconds(60);        // L: silence this long is death
  Duration heartbeat_interval = seconds(10);  // H: the longest a poll is held back
  Duration kill_time = seconds(15);           // K: TERM, grace, KILL on the worker
  Duration self_fence = seconds(40);          // F: a worker that is not heard kills its tasks
  Duration scheduled_timeout = seconds(300);  // S: handed out but not started
  Duration execution_timeout = hours(1);
  Duration stale_after = seconds(600);    // without progress, once a task has shown any
  bool stale_for_all = false;             // or from its start, whether it has or not
  Duration reconnect_grace = seconds(2);  // from a hint to the reclaim
  Duration worker_queue_ttl = seconds(300);
  Duration keep_away = seconds(5);  // how long a retry waits for a worker other than the last
  Duration partition_lease = seconds(30);
  Duration sweep = millis(500);  // the shell ticks at least this often
  Duration health_check_interval = seconds(15);
  Duration reconcile_interval = seconds(60);
  Duration retain_workers;  // workers gone for longer are forgotten; zero: never
  Duration retain_leases;   // leases nobody held for longer are forgotten; zero: never
  RetryPolicy retry;
  std::uint16_t crash_limit = 3;
  std::uint16_t cordon_after = 3;
  std::uint32_t cordon_share_percent = 25;  // of the present workers; 0: nobody is blamed
  Duration probation_after = seconds(300);  // doubled by each failed probation
  std::uint16_t never_started_limit = 3;
  std::uint16_t release_limit = 100;  // releases, when a worker that goes on working adds one
  std::uint32_t brake_fleet_min = 4;
  std::uint32_t brake_permille_per_minute = 150;  // of the fleet, reclaimed by silence under it
  std::uint32_t bulk_tasks_per_step = 2'500;      // bound on what one step may create or sweep
  // A DAG of more nodes gets the rows of its single tasks when they are ready, in such steps too; a
  // smaller one has them all from the start.
  std::uint32_t nodes_at_once = 10'000;
  std::uint32_t spread_from_tasks = 200;  // a reclaim of more than this is spread over a window
  std::uint16_t flapping_losses = 3;      // 0: nobody is called flapping
  Duration flapping_window = hours(1);
  // What a report may carry, and what the store takes piece by piece.
  std::uint32_t checkpoint_bytes_max = 64 * 1024;
  std::uint64_t upload_bytes_max = 64U << 20;
  std::uint32_t outputs_bytes_max = 256 * 1024;
  DagLimits dag_limits;
  Quota quota;            // of all live runs
  Quota quota_per_token;  // of those that one token has submitted
};

// What the settings say; the rest keeps its defaults above.
Policy make_policy(const Settings& settings);

}  // namespace vortex::core
