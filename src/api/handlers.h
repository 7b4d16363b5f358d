#pragma once
// All handlers, one per row of the route table. What each takes and answers is written there.
// Threads: any I/O thread; each call on its connection's executor.

#include <array>
#include <string_view>

#include "api/call.h"

namespace vortex::api {

// handle_system.cc
Handled get_health(Call& call);
Handled get_livez(Call& call);
Handled get_readyz(Call& call);
Handled list_controllers(Call& call);
Handled get_metrics(Call& call);
Handled get_status(Call& call);
Handled reconcile(Call& call);
Handled get_timings(Call& call);
Handled get_settings(Call& call);
Handled get_openapi(Call& call);

// handle_runs.cc
Handled list_dags(Call& call);
Handled put_dag(Call& call);
Handled get_dag(Call& call);
Handled delete_dag(Call& call);
Handled list_dag_versions(Call& call);
Handled validate_dag(Call& call);
inline constexpr std::array<std::string_view, 2> kSyntaxNames{"yaml", "json"};
Handled validate_dag_file(Call& call);

// handle_schedules.cc
Handled list_schedules(Call& call);
Handled get_schedule(Call& call);
Handled pause_schedule(Call& call);
Handled resume_schedule(Call& call);
Handled trigger_schedule(Call& call);

// handle_runs.cc
Handled submit_run(Call& call);
Handled submit_named_run(Call& call);
Handled rerun_run(Call& call);

// handle_submits.cc
Handled submit_runs(Call& call);

// handle_runs.cc
Handled list_runs(Call& call);
Handled get_run(Call& call);
Handled explain_run(Call& call);
Handled cancel_run(Call& call);
Handled pause_run(Call& call);
Handled resume_run(Call& call);
Handled list_run_tasks(Call& call);
Handled list_run_attempts(Call& call);
Handled get_run_dag(Call& call);

// handle_signals.cc
Handled signal_run(Call& call);
Handled list_run_signals(Call& call);
Handled approve_task(Call& call);
Handled reject_task(Call& call);
Handled list_approvals(Call& call);

// handle_tasks.cc
Handled list_tasks(Call& call);
Handled get_task(Call& call);
Handled list_attempts(Call& call);
Handled explain_task(Call& call);
Handled retry_task(Call& call);
Handled cancel_task(Call& call);
Handled check_fence(Call& call);

// handle_logs.cc
Handled get_log(Call& call);
Handled write_log(Call& call);

// handle_checkpoints.cc
Handled begin_checkpoint(Call& call);
Handled write_checkpoint_piece(Call& call);
Handled keep_checkpoint(Call& call);
Handled read_checkpoint(Call& call);

// handle_workers.cc
Handled list_workers(Call& call);
Handled get_worker(Call& call);
Handled register_worker(Call& call);
Handled sync_worker(Call& call);
Handled worker_exited(Call& call);
Handled supervisor_events(Call& call);
Handled drain_worker(Call& call);
Handled cordon_worker(Call& call);
Handled uncordon_worker(Call& call);
Handled reset_worker(Call& call);
Handled delete_worker(Call& call);
Handled list_machines(Call& call);

// handle_queues.cc
Handled list_queues(Call& call);
Handled list_limits(Call& call);
Handled get_limit(Call& call);
Handled set_limit(Call& call);
Handled delete_limit(Call& call);
Handled pause_queue(Call& call);
Handled resume_queue(Call& call);
Handled list_dead_letters(Call& call);
Handled get_dead_letter(Call& call);
Handled redrive_dead_letter(Call& call);
Handled discard_dead_letter(Call& call);
Handled redrive_dead_letters(Call& call);
Handled discard_dead_letters(Call& call);
Handled list_recoveries(Call& call);
Handled get_recovery(Call& call);

// handle_workers.cc
Handled list_leases(Call& call);
Handled get_lease(Call& call);
Handled acquire_lease(Call& call);
Handled renew_lease(Call& call);
Handled release_lease(Call& call);
Handled check_lease(Call& call);

// handle_events.cc
// Whether it asks for events as they come, and not for a page of stored ones.
bool wants_event_stream(const net::Request& request);
Handled get_events(Call& call);
Handled get_run_events(Call& call);

// handle_system.cc
Handled list_tokens(Call& call);
Handled create_token(Call& call);
Handled revoke_token(Call& call);

// pages/session.cc
Handled get_session(Call& call);
Handled create_session(Call& call);
Handled delete_session(Call& call);
Handled create_login_pass(Call& call);

// audit/handle_audit.cc
Handled get_audit(Call& call);

// vault/handle_secrets.cc
Handled list_secrets(Call& call);
Handled get_secret(Call& call);
Handled list_secret_versions(Call& call);
Handled set_secret(Call& call);
Handled rotate_secret(Call& call);
Handled delete_secret(Call& call);
Handled get_master_key(Call& call);
Handled rotate_master_key(Call& call);

// handle_events.cc
Handled list_webhooks(Call& call);
Handled get_webhook(Call& call);
Handled create_webhook(Call& call);
Handled try_webhook(Call& call);
Handled delete_webhook(Call& call);

}  // namespace vortex::api
