#pragma once
// The numbers the agent decides by, fixed for one worker process.
//
// Built from settings that have already refused combinations which break the timing rules
// (H <= F/3, F + tick + K <= 0.95 L); the agent relies on them.

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "model/ids.h"
#include "model/worker_info.h"

namespace vortex::agent {

struct AgentConfig {
  WorkerInfo info;
  Incarnation incarnation;        // higher than that of every earlier process of this worker
  std::uint32_t controllers = 1;  // how many addresses the shell knows
  Duration heartbeat_interval = seconds(10);   // H
  Duration self_fence = seconds(40);           // F, shortened when the granted lease is short
  Duration kill_time = seconds(15);            // K: TERM, grace, KILL
  Duration shutdown_timeout = seconds(30);     // what runs may finish when it is asked to leave
  Duration tick = millis(500);                 // how late a wake-up may come
  std::size_t report_bytes_max = 1024 * 1024;  // of reports in one call; one report always fits
  Duration assumed_run = seconds(1);           // of a task, until some have ended here
  std::uint64_t seed = 1;                      // of the jitter
};

}  // namespace vortex::agent
