#pragma once
// The commands that exist. Each adds itself, its options and its help to the tree.
//
// `chosen` is set by the parser to what shall be done; nothing runs while arguments are read.

#include <expected>
#include <string>

#include "cli/arguments.h"
#include "cli/client/failure.h"

namespace vortex::cli {

// Run things.
void add_backfill(CommandSpec app, Command& chosen);
void add_controller(CommandSpec app, Command& chosen);
void add_dag(CommandSpec app, Command& chosen);
void add_dev(CommandSpec app, Command& chosen);
void add_exec(CommandSpec app, Command& chosen);
void add_run(CommandSpec app, Command& chosen);
void add_schedules(CommandSpec app, Command& chosen);
void add_validate(CommandSpec app, Command& chosen);
void add_worker(CommandSpec app, Command& chosen);

// Look.
void add_status(CommandSpec app, Command& chosen);
void add_top(CommandSpec app, Command& chosen);
void add_dashboard(CommandSpec app, Command& chosen);
void add_runs(CommandSpec app, Command& chosen);
void add_tasks(CommandSpec app, Command& chosen);
void add_approvals(CommandSpec app, Command& chosen);
void add_run_answers(CommandSpec runs, Command& chosen);  // below `vortex runs`
void add_run_again(CommandSpec runs, Command& chosen);    // the same
// How many results a run that was just made has kept of an earlier one.
std::string kept_text(const boost::json::object& run);
void add_logs(CommandSpec app, Command& chosen);
void add_events(CommandSpec app, Command& chosen);
void add_audit(CommandSpec app, Command& chosen);
void add_machines(CommandSpec app, Command& chosen);
void add_recoveries(CommandSpec app, Command& chosen);
void add_timings(CommandSpec app, Command& chosen);
void add_explain(CommandSpec app, Command& chosen);

// Of `vortex dashboard`, for those who print it as well.
class ApiClient;
std::expected<std::string, Failure> dashboard_link(ApiClient& api);

// Act.
void add_workers(CommandSpec app, Command& chosen);
void add_controllers(CommandSpec app, Command& chosen);
void add_queues(CommandSpec app, Command& chosen);
void add_limits(CommandSpec app, Command& chosen);
void add_dlq(CommandSpec app, Command& chosen);
void add_leases(CommandSpec app, Command& chosen);
void add_fence(CommandSpec app, Command& chosen);
void add_worker_check(CommandSpec app, Command& chosen);

// Operate.
void add_config(CommandSpec app, Command& chosen);
void add_doctor(CommandSpec app, Command& chosen);
void add_drill(CommandSpec app, Command& chosen);
void add_health(CommandSpec app, Command& chosen);
void add_db(CommandSpec app, Command& chosen);
void add_reconcile(CommandSpec app, Command& chosen);
void add_secrets(CommandSpec app, Command& chosen);
void add_tokens(CommandSpec app, Command& chosen);
void add_tls(CommandSpec app, Command& chosen);
void add_login(CommandSpec app, Command& chosen);
void add_logout(CommandSpec app, Command& chosen);
void add_webhooks(CommandSpec app, Command& chosen);
void add_completion(CommandSpec app, Command& chosen);
void add_version(CommandSpec app, Command& chosen);

}  // namespace vortex::cli
