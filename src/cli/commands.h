#pragma once
// The commands that exist. Each adds itself, its options and its help to the tree.
//
// `chosen` is set by the parser to what shall be done; nothing runs while arguments are read.

#include <CLI/App.hpp>

#include "cli/context.h"

namespace vortex::cli {

// Run things.
void add_controller(CLI::App& app, Command& chosen);
void add_dag(CLI::App& app, Command& chosen);
void add_dev(CLI::App& app, Command& chosen);
void add_exec(CLI::App& app, Command& chosen);
void add_run(CLI::App& app, Command& chosen);
void add_validate(CLI::App& app, Command& chosen);
void add_worker(CLI::App& app, Command& chosen);

// Look.
void add_status(CLI::App& app, Command& chosen);
void add_top(CLI::App& app, Command& chosen);
void add_runs(CLI::App& app, Command& chosen);
void add_tasks(CLI::App& app, Command& chosen);
void add_logs(CLI::App& app, Command& chosen);
void add_events(CLI::App& app, Command& chosen);
void add_machines(CLI::App& app, Command& chosen);
void add_recoveries(CLI::App& app, Command& chosen);
void add_timings(CLI::App& app, Command& chosen);
void add_explain(CLI::App& app, Command& chosen);

// Act.
void add_workers(CLI::App& app, Command& chosen);
void add_queues(CLI::App& app, Command& chosen);
void add_dlq(CLI::App& app, Command& chosen);
void add_leases(CLI::App& app, Command& chosen);
void add_fence(CLI::App& app, Command& chosen);

// Operate.
void add_config(CLI::App& app, Command& chosen);
void add_doctor(CLI::App& app, Command& chosen);
void add_drill(CLI::App& app, Command& chosen);
void add_health(CLI::App& app, Command& chosen);
void add_db(CLI::App& app, Command& chosen);
void add_tokens(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_completion(CLI::App& app, Command& chosen);
void add_version(CLI::App& app, Command& chosen);

}  // namespace vortex::cli
