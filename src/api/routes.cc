// Routes of DAGs, runs, tasks, dead letters and recoveries.

#include "api/routes.h"

#include <vector>

#include "api/handlers.h"

namespace vortex::api {
namespace {

using net::Method;
using namespace rows;

constexpr QueryParam kPage[] = {kLimit, kCursor};
constexpr QueryParam kDagFile[] = {
    {"syntax", Type::kText, "how the file is written; defaults to yaml", kSyntaxNames}};
constexpr QueryParam kRuns[] = {
    {"state", Type::kText, "only runs in this state", words_of<RunState>()},
    {"dag", Type::kText, "only runs of the DAG with this name"},
    {"parent", Type::kText, "only runs that are sub-DAGs of this run"},
    {"label", Type::kText, "only runs with this label, key=value; may be repeated"},
    {"param", Type::kText,
     "only runs with this param, name=value, where a value other than a string is compact JSON; "
     "may be repeated. A page looks at up to 5,000 runs and may hold fewer than `limit`, even "
     "none, while there are more pages"},
    kLimit,
    kCursor};
constexpr QueryParam kRunTasks[] = {
    {"state", Type::kText, "only tasks in this state", words_of<TaskState>()},
    {"node", Type::kText, "only tasks of the node with this name"},
    kLimit,
    kCursor};
constexpr QueryParam kTasks[] = {
    {"run", Type::kText, "only tasks of this run"},
    {"state", Type::kText, "only tasks in this state", words_of<TaskState>()},
    {"worker", Type::kText, "only tasks that this worker holds"},
    {"node", Type::kText, "only tasks of the node with this name; requires run"},
    kLimit,
    kCursor};
constexpr QueryParam kRunEvents[] = {
    {"after", Type::kInteger, "only events after this sequence number"},
    {"kind", Type::kText, "only events of these kinds, separated by commas"},
    {"worker", Type::kText, "only events of this worker"},
    {"follow", Type::kBoolean, "stream the events, as with Accept: text/event-stream"},
    kLimit};
constexpr QueryParam kReadLog[] = {
    {"attempt", Type::kInteger, "number of the attempt; defaults to the latest"},
    {"epoch", Type::kInteger, "epoch of the attempt"},
    {"offset", Type::kInteger, "offset of the first byte"},
    {"tail", Type::kInteger, "only this many bytes at the end"},
    {"limit", Type::kInteger, "maximum number of bytes"},
    {"follow", Type::kBoolean, "stream the output until the attempt ends"}};
constexpr QueryParam kWriteLog[] = {
    {"epoch", Type::kInteger, "epoch of the attempt that wrote it", {}, true},
    {"offset", Type::kInteger, "offset of its first byte in the attempt's output", {}, true}};
constexpr QueryParam kHolder[] = {
    {"epoch", Type::kInteger, "epoch of the attempt", {}, true},
    {"worker", Type::kText, "worker that holds it", {}, true},
    {"incarnation", Type::kInteger, "incarnation of that worker", {}, true},
    {"bytes", Type::kInteger, "size of the whole checkpoint"},
    {"upload", Type::kInteger, "id returned by the first call"},
    {"offset", Type::kInteger, "offset of the first byte of the piece"},
    {"refused", Type::kText, "why the worker does not send it; for the monitor log"}};
constexpr QueryParam kPiece[] = {
    {"upload", Type::kInteger, "from the assignment (checkpoint_upload)", {}, true},
    {"offset", Type::kInteger, "where the piece starts"}};
constexpr QueryParam kFenceQuery[] = {
    {"epoch", Type::kInteger, "VORTEX_EPOCH of the task", {}, true}};
constexpr QueryParam kLetters[] = {
    {"state", Type::kText, "only dead letters in this state", words_of<DeadLetterState>()},
    {"run", Type::kText, "only dead letters of this run"},
    kLimit,
    kCursor};
constexpr QueryParam kRecoveries[] = {{"worker", Type::kText, "only recoveries of this worker"},
                                      {"task", Type::kText, "only recoveries of this task"},
                                      kLimit,
                                      kCursor};

constexpr QueryParam kNextSlots[] = {
    {"slots", Type::kInteger, "number of slots to come; 10 by default, up to 1000"}};

constexpr Route kWorkRoutes[] = {
    with(get("/api/dags", "list_dags", "List stored DAGs", "DagList", list_dags), kPage),
    served(large(taking(post("/api/dags/validate", Need::kViewer, "validate_dag",
                             "Check a DAG without storing it", "DagCheck", validate_dag),
                        "DagDocument")),
           Served::kAnywhere),
    with(served(checking(raw(post("/api/dags/validate-file", Need::kViewer, "validate_dag_file",
                                  "Check a DAG file as people write it, in YAML or JSON, and show "
                                  "the specification that it stands for. Errors have the line and "
                                  "column in the file",
                                  "DagSpec", validate_dag_file))),
                Served::kAnywhere),
         kDagFile),
    get("/api/dags/{name}", "get_dag", "Show a stored DAG with its specification", "DagDetail",
        get_dag),
    get("/api/dags/{name}/versions", "list_dag_versions",
        "List the versions of a DAG: those that its newest 2,000 runs used, and the stored one",
        "DagVersionList", list_dag_versions),
    large(taking(as(post("/api/dags/{name}", Need::kSubmitter, "put_dag",
                         "Store a DAG under its name; 201 if it is new", "DagDetail", put_dag),
                    Method::kPut),
                 "DagDocument")),
    nothing(as(post("/api/dags/{name}", Need::kOperator, "delete_dag",
                    "Delete a stored DAG; its runs continue", {}, delete_dag),
               Method::kDelete)),
    keyed(large(taking(post("/api/dags/{name}/runs", Need::kSubmitter, "submit_named_run",
                            "Submit a run of a stored DAG; Idempotency-Key as for POST /api/runs",
                            "Run", submit_named_run),
                       "SubmitNamedRequest", 201))),

    with(get("/api/schedules", "list_schedules",
             "List the schedules of stored DAGs, each with its next slots", "ScheduleList",
             list_schedules),
         kPage),
    with(get("/api/schedules/{name}", "get_schedule", "Show the schedule of a stored DAG",
             "Schedule", get_schedule),
         kNextSlots),
    post("/api/schedules/{name}/pause", Need::kOperator, "pause_schedule",
         "Pause a schedule: skip its slots until it is resumed", "Schedule", pause_schedule),
    post("/api/schedules/{name}/resume", Need::kOperator, "resume_schedule",
         "Resume a schedule from now on", "Schedule", resume_schedule),
    keyed(taking(
        post("/api/schedules/{name}/trigger", Need::kSubmitter, "trigger_schedule",
             "Start a run of a scheduled DAG now, outside of its slots; Idempotency-Key as for "
             "POST /api/runs",
             "Run", trigger_schedule),
        "TriggerRequest", 201)),

    with(get("/api/runs", "list_runs", "List runs, newest first", "RunList", list_runs), kRuns),
    keyed(large(taking(
        post("/api/runs", Need::kSubmitter, "submit_run",
             "Submit a run. With the header Idempotency-Key, repeated requests start it only "
             "once: 201 the first time, 200 after that",
             "Run", submit_run),
        "SubmitRequest", 201))),
    keyed(large(taking(
        post("/api/runs:batch", Need::kSubmitter, "submit_runs",
             "Submit up to 10,000 runs, each with an answer of its own. With the header "
             "Idempotency-Key, a run without a key gets this one and its position as its key",
             "SubmittedRuns", submit_runs),
        "SubmitManyRequest"))),
    get("/api/runs/{run}", "get_run", "Show a run", "Run", get_run),
    post("/api/runs/{run}/cancel", Need::kSubmitter, "cancel_run",
         "Cancel a run: stop its running tasks and start no more", "Run", cancel_run),
    post("/api/runs/{run}/pause", Need::kSubmitter, "pause_run",
         "Pause a run: start no more of its tasks", "Run", pause_run),
    post("/api/runs/{run}/resume", Need::kSubmitter, "resume_run", "Resume a run", "Run",
         resume_run),
    keyed(taking(
        post("/api/runs/{run}/signals/{name}", Need::kSubmitter, "signal_run",
             "Send a signal to a run: a task that waits for it takes it, now or when its wait "
             "begins. With the header Idempotency-Key, repeated requests count once",
             "Signal", signal_run),
        "SignalRequest")),
    keyed(taking(
        post("/api/runs/{run}/rerun", Need::kSubmitter, "rerun_run",
             "Submit a run like an earlier one, with the same DAG, labels and slot; with `keep`, "
             "results that are still valid are taken over. Idempotency-Key as for POST "
             "/api/runs",
             "Run", rerun_run),
        "RerunRequest", 201)),
    get("/api/runs/{run}/signals", "list_run_signals",
        "List the signals that a run was sent, and the answers to its approvals", "SignalList",
        list_run_signals),
    served(get("/api/approvals", "list_approvals", "List the approvals that nobody has answered",
               "ApprovalList", list_approvals),
           Served::kByLeader),
    with(get("/api/runs/{run}/tasks", "list_run_tasks", "List the tasks of a run", "TaskList",
             list_run_tasks),
         kRunTasks),
    with(get("/api/runs/{run}/attempts", "list_run_attempts",
             "List the attempts of the tasks of a run; a page covers up to `limit` tasks",
             "RunAttemptList", list_run_attempts),
         kRunTasks),
    get("/api/runs/{run}/dag", "get_run_dag", "Show the DAG of a run", "DagSpec", get_run_dag),
    served(get("/api/runs/{run}/explain", "explain_run",
               "Explain what keeps the tasks of a run from moving", "RunExplanation", explain_run),
           Served::kByLeader),
    with(served(get("/api/runs/{run}/events", "get_run_events",
                    "Read the events of a run, as a page or stream", "EventPage", get_run_events),
                Served::kByLeaderIfStreamed),
         kRunEvents),

    with(get("/api/tasks", "list_tasks", "Tasks", "TaskList", list_tasks), kTasks),
    for_attempts(get("/api/tasks/{task}", "get_task", "Show a task with its definition and outputs",
                     "TaskDetail", get_task)),
    get("/api/tasks/{task}/attempts", "list_attempts", "List the attempts of a task", "AttemptList",
        list_attempts),
    for_attempts(
        with(text(get("/api/tasks/{task}/logs", "get_log",
                      "Read the output of an attempt as text, or with Accept: application/json as "
                      "an object; X-Vortex-Log-Offset, -Next and -Size say which part",
                      "Log", get_log)),
             kReadLog)),
    quiet(
        with(raw(post("/api/tasks/{task}/logs", Need::kWorker, "write_log",
                      "Add output of an attempt; 409 if it is not the latest one", {}, write_log)),
             kWriteLog)),
    quiet(with(
        post("/api/tasks/{task}/checkpoint", Need::kWorker, "begin_checkpoint",
             "Start to save a checkpoint in pieces; 413 if it is rejected, which is logged in the "
             "monitor log",
             "CheckpointUpload", begin_checkpoint),
        kHolder)),
    quiet(with(
        raw(as(post("/api/tasks/{task}/checkpoint", Need::kWorker, "write_checkpoint_piece",
                    "Add a piece of at most 1 MiB, in order; 503 with Retry-After while others "
                    "are being written",
                    {}, write_checkpoint_piece),
               Method::kPut)),
        kHolder)),
    quiet(with(
        nothing(post("/api/tasks/{task}/checkpoint/keep", Need::kWorker, "keep_checkpoint",
                     "Finish the upload and make it the task's checkpoint", {}, keep_checkpoint)),
        kHolder)),
    for_attempts(with(
        bytes(served(as(post("/api/tasks/{task}/checkpoint", Need::kWorker, "read_checkpoint",
                             "Read one piece of a checkpoint; the next one starts where it ends",
                             {}, read_checkpoint),
                        Method::kGet),
                     Served::kAnywhere)),
        kPiece)),
    served(
        get("/api/tasks/{task}/explain", "explain_task",
            "Explain the state of a task and what it is waiting for", "Explanation", explain_task),
        Served::kByLeader),
    post("/api/tasks/{task}/retry", Need::kOperator, "retry_task",
         "Retry a failed task, and the tasks skipped because of it", "Task", retry_task),
    taking(post("/api/tasks/{task}/approve", Need::kSubmitter, "approve_task",
                "Approve what a task asks; the DAG says which roles may. Repeating it is harmless",
                "Signal", approve_task),
           "ApproveRequest"),
    taking(post("/api/tasks/{task}/reject", Need::kSubmitter, "reject_task",
                "Reject what a task asks, which fails it; the DAG says which roles may", "Signal",
                reject_task),
           "RejectRequest"),
    post("/api/tasks/{task}/cancel", Need::kOperator, "cancel_task", "Cancel a task", "Task",
         cancel_task),
    for_attempts(
        with(as(post("/api/tasks/{task}/fence", Need::kWorker, "check_fence",
                     "Check before an irreversible step that the attempt still holds its task: "
                     "200, otherwise 409",
                     "Fence", check_fence),
                Method::kGet),
             kFenceQuery)),

    with(get("/api/dead-letters", "list_dead_letters", "List dead letters, newest first",
             "DeadLetterList", list_dead_letters),
         kLetters),
    get("/api/dead-letters/{task}", "get_dead_letter", "Show the newest dead letter of a task",
        "DeadLetter", get_dead_letter),
    post("/api/dead-letters/{task}/retry", Need::kOperator, "redrive_dead_letter",
         "Retry the task of a dead letter", "DeadLetter", redrive_dead_letter),
    post("/api/dead-letters/{task}/discard", Need::kOperator, "discard_dead_letter",
         "Discard a dead letter; the task stays failed", "DeadLetter", discard_dead_letter),
    taking(post("/api/dead-letters/retry", Need::kOperator, "redrive_dead_letters",
                "Retry the tasks of all open dead letters, or of those of a run; 409, and nothing "
                "is done, unless they are as many as expected",
                "BulkOutcome", redrive_dead_letters),
           "BulkLettersRequest"),
    taking(post("/api/dead-letters/discard", Need::kOperator, "discard_dead_letters",
                "Discard all open dead letters, or those of a run; 409, and nothing is done, "
                "unless they are as many as expected",
                "BulkOutcome", discard_dead_letters),
           "BulkLettersRequest"),
    with(get("/api/recoveries", "list_recoveries",
             "List the recoveries of lost workers, newest first", "RecoveryList", list_recoveries),
         kRecoveries),
    with(get("/api/recoveries/{recovery}", "get_recovery",
             "Show a recovery with the reclaimed tasks", "RecoveryDetail", get_recovery),
         kPage),
};

}  // namespace

std::span<const Route> work_routes() { return kWorkRoutes; }

// Routes of workers, machines, queues and partition leases.

namespace {

constexpr QueryParam kWorkers[] = {
    {"state", Type::kText, "only workers in this state; ACTIVE: IDLE or RUNNING",
     kWorkerFilterNames},
    {"zone", Type::kText, "only workers in this zone"},
    {"group", Type::kText, "only workers in this group"},
    {"machine", Type::kText, "only workers on this machine"},
    {"live", Type::kBoolean, "only workers that are present"},
    kLimit,
    kCursor};
constexpr QueryParam kLeases[] = {
    {"topic", Type::kText, "only partitions of this topic"}, kLimit, kCursor};

constexpr Route kFleetRoutes[] = {
    with(get("/api/workers", "list_workers", "List workers, by default up to 1000 per page",
             "WorkerList", list_workers),
         kWorkers),
    medium(taking(
        post(
            "/api/workers", Need::kWorker, "register_worker",
            "Register a worker and open its session; for incarnation 0, the controller chooses one",
            "RegisterReply", register_worker),
        "RegisterRequest")),
    get("/api/workers/{worker}", "get_worker", "Show a worker", "Worker", get_worker),
    quiet(large(taking(post("/api/workers/{worker}/sync", Need::kWorker, "sync_worker",
                            "Exchange reports and assignments between worker and controller",
                            "SyncReply", sync_worker),
                       "SyncRequest"))),
    medium(taking(
        post("/api/workers/{worker}/exited", Need::kWorker, "worker_exited",
             "Report, as its supervisor, that the worker process ended and nothing of its tasks "
             "is left",
             {}, worker_exited),
        "ExitedRequest", 204)),
    quiet(medium(taking(
        post(
            "/api/supervisors/{supervisor}/events", Need::kWorker, "supervisor_events",
            "Add entries of a supervisor's journal to the monitor log; repeated entries count once",
            {}, supervisor_events),
        "LifecycleRequest", 204))),
    taking(post("/api/workers/{worker}/drain", Need::kOperator, "drain_worker",
                "Drain a worker: assign no more tasks; it leaves when done, or at the deadline",
                "Worker", drain_worker),
           "DrainRequest"),
    post("/api/workers/{worker}/cordon", Need::kOperator, "cordon_worker",
         "Cordon a worker: assign no more tasks until uncordoned", "Worker", cordon_worker),
    post("/api/workers/{worker}/uncordon", Need::kOperator, "uncordon_worker", "Uncordon a worker",
         "Worker", uncordon_worker),
    post("/api/workers/{worker}/reset-state", Need::kOperator, "reset_worker",
         "Declare this worker process dead and move its tasks immediately", "Worker", reset_worker),
    nothing(as(post("/api/workers/{worker}", Need::kOperator, "delete_worker",
                    "Delete a worker that is gone; 409 while it is present", {}, delete_worker),
               net::Method::kDelete)),
    get("/api/machines", "list_machines", "List the machines that workers run on", "MachineList",
        list_machines),

    served(
        get("/api/queues", "list_queues", "List queues and their depth", "QueueList", list_queues),
        Served::kByLeader),
    post("/api/queues/{name}/pause", Need::kOperator, "pause_queue",
         "Pause a queue: start no more tasks from it", "QueueState", pause_queue),
    post("/api/queues/{name}/resume", Need::kOperator, "resume_queue", "Resume a queue",
         "QueueState", resume_queue),

    served(get("/api/limits", "list_limits", "List the named limits of tasks", "LimitList",
               list_limits),
           Served::kByLeader),
    served(get("/api/limits/{name}", "get_limit", "Show a named limit and who holds it", "Limit",
               get_limit),
           Served::kByLeader),
    taking(as(post("/api/limits/{name}", Need::kOperator, "set_limit",
                   "Set a named limit as a whole: what is not given is not limited", "Limit",
                   set_limit),
              Method::kPut),
           "LimitRequest"),
    nothing(as(post("/api/limits/{name}", Need::kOperator, "delete_limit",
                    "Delete a named limit; tasks that name it wait until it is set again", {},
                    delete_limit),
               Method::kDelete)),

    with(get("/api/leases", "list_leases", "List partition leases", "LeaseList", list_leases),
         kLeases),
    get("/api/leases/{topic}/{partition}", "get_lease", "Show the lease of a partition", "Lease",
        get_lease),
    quiet(taking(
        post("/api/leases/{topic}/{partition}/acquire", Need::kWorker, "acquire_lease",
             "Acquire a free or expired lease with a new epoch", "LeaseGrant", acquire_lease),
        "LeaseRequest")),
    quiet(taking(post("/api/leases/{topic}/{partition}/renew", Need::kWorker, "renew_lease",
                      "Renew a lease; 409 LeaseNotHeld if it was lost", "LeaseGrant", renew_lease),
                 "LeaseHeld")),
    quiet(taking(post("/api/leases/{topic}/{partition}/release", Need::kWorker, "release_lease",
                      "Release a lease immediately", {}, release_lease),
                 "LeaseHeld", 204)),
    quiet(taking(post("/api/leases/{topic}/{partition}/check", Need::kWorker, "check_lease",
                      "Check whether the holder may still act; 409 LeaseNotHeld if not",
                      "LeaseGrant", check_lease),
                 "LeaseHeld")),
};

}  // namespace

std::span<const Route> fleet_routes() { return kFleetRoutes; }

// Routes of the system as a whole: health, metrics, status, settings, events, tokens, secrets,
// webhooks.

namespace {

constexpr QueryParam kEvents[] = {
    {"after", Type::kInteger, "only events after this sequence number"},
    {"kind", Type::kText, "only events of these kinds, separated by commas"},
    {"run", Type::kText, "only events of this run"},
    {"worker", Type::kText, "only events of this worker"},
    {"follow", Type::kBoolean, "stream the events, as with Accept: text/event-stream"},
    kLimit};

constexpr QueryParam kAudit[] = {
    {"who", Type::kText, "only entries of the token with this name, or of this address"},
    {"what", Type::kText, "only entries of this operation, or about this object"},
    {"outcome", Type::kText, "only entries with this outcome", words_of<AuditOutcome>()},
    {"since", Type::kText, "only entries from this time on, such as 2026-02-22T22:59:55Z"},
    {"after", Type::kInteger, "only entries after this sequence number, oldest first"},
    kLimit,
    kCursor};

constexpr Route open(Route route) {
  route.need = Need::kAnyone;
  return route;
}

constexpr Route admin(Route route) {
  route.need = Need::kAdmin;
  return route;
}

constexpr Route operators(Route route) {
  route.need = Need::kOperator;
  return route;
}

constexpr QueryParam kDeleteSecret[] = {
    {"version", Type::kInteger, "only this version"},
};

constexpr Route kSystemRoutes[] = {
    open(get("/health", "get_health", "Check the health of this controller; 503 if it is unhealthy",
             "Health", get_health)),
    open(get("/livez", "get_livez", "Check that the process answers", "Probe", get_livez)),
    open(get("/readyz", "get_readyz", "Check that it can serve requests; 503 if not", "Probe",
             get_readyz)),
    text(get("/metrics", "get_metrics", "Get metrics in the Prometheus text format", {},
             get_metrics)),
    get("/api/controllers", "list_controllers",
        "List the controllers of the database and which of them leads", "ControllerList",
        list_controllers),
    get("/api/status", "get_status", "Show the whole system on one screen", "Status", get_status),
    post("/api/reconcile", Need::kOperator, "reconcile",
         "Check the whole state now, against itself and the database, and report what was found "
         "and done",
         "ReconcileReport", reconcile),
    get("/api/timings", "get_timings",
        "Show the worst-case recovery times with the current settings", "Timings", get_timings),
    get("/api/settings", "get_settings", "Show the current settings and where they come from",
        "Settings", get_settings),
    get("/api/openapi.json", "get_openapi", "Get this description", "OpenApi", get_openapi),
    with(served(get("/api/events", "get_events",
                    "Read the monitor log: a page, or with Accept: text/event-stream a live stream "
                    "(id = "
                    "sequence, Last-Event-ID resumes)",
                    "EventPage", get_events),
                Served::kByLeaderIfStreamed),
         kEvents),
    open(get("/api/session", "get_session",
             "Show who the request comes from, with a token or a session", "Session", get_session)),
    served(
        taking(post("/api/session", Need::kAnyone, "create_session",
                    "Log a browser in: a token becomes a session cookie, which ends with the token",
                    "Session", create_session),
               "SessionRequest"),
        Served::kByLeaderIfPass),
    served(nothing(as(post("/api/session", Need::kAnyone, "delete_session",
                           "Log a browser out: its session cookie is removed", {}, delete_session),
                      net::Method::kDelete)),
           Served::kAnywhere),
    post("/api/session/pass", Need::kViewer, "create_login_pass",
         "Create a pass that logs a browser in once, with the rights of this token", "LoginPass",
         create_login_pass),
    admin(get("/api/tokens", "list_tokens", "List tokens, without their secrets", "TokenList",
              list_tokens)),
    taking(post("/api/tokens", Need::kAdmin, "create_token",
                "Create a token; its secret is shown only once", "NewToken", create_token),
           "TokenRequest", 201),
    nothing(as(post("/api/tokens/{name}", Need::kAdmin, "revoke_token", "Revoke a token", {},
                    revoke_token),
               net::Method::kDelete)),
    with(admin(get("/api/audit", "get_audit",
                   "Read the audit log: requests that changed something or were refused",
                   "AuditPage", get_audit)),
         kAudit),
    operators(get("/api/secrets", "list_secrets", "List secrets, without their values",
                  "SecretList", list_secrets)),
    operators(get("/api/secrets/{name}", "get_secret",
                  "Show a secret and what may use it, without its value", "Secret", get_secret)),
    operators(get("/api/secrets/{name}/versions", "list_secret_versions",
                  "List the versions of a secret, without their values", "SecretVersionList",
                  list_secret_versions)),
    medium(taking(as(post("/api/secrets/{name}", Need::kAdmin, "set_secret",
                          "Create a secret, or add a version and change what may use it", "Secret",
                          set_secret),
                     net::Method::kPut),
                  "SecretRequest")),
    medium(taking(post("/api/secrets/{name}/rotate", Need::kAdmin, "rotate_secret",
                       "Add a version to a secret that exists", "Secret", rotate_secret),
                  "SecretValue")),
    with(
        nothing(as(post("/api/secrets/{name}", Need::kAdmin, "delete_secret",
                        "Delete a secret with all its versions, or one version", {}, delete_secret),
                   net::Method::kDelete)),
        kDeleteSecret),
    operators(get("/api/master-key", "get_master_key",
                  "Show which master key seals secrets, never the key", "MasterKey",
                  get_master_key)),
    taking(post("/api/master-key/rotate", Need::kAdmin, "rotate_master_key",
                "Seal everything with another master key: the one in the body, or the one that is "
                "configured now",
                "MasterKeyReport", rotate_master_key),
           "MasterKeyRequest"),
    admin(get("/api/webhooks", "list_webhooks", "List webhooks, without their secrets",
              "WebhookList", list_webhooks)),
    taking(
        post("/api/webhooks", Need::kAdmin, "create_webhook",
             "Create a webhook that sends events to a URL; its signing secret is shown only once",
             "NewWebhook", create_webhook),
        "WebhookRequest", 201),
    admin(get("/api/webhooks/{name}", "get_webhook", "Show a webhook and its progress", "Webhook",
              get_webhook)),
    post("/api/webhooks/{name}/test", Need::kAdmin, "test_webhook",
         "Send one vortex.test event to the receiver now", "Delivery", try_webhook),
    nothing(as(post("/api/webhooks/{name}", Need::kAdmin, "delete_webhook", "Delete a webhook", {},
                    delete_webhook),
               net::Method::kDelete)),
};

}  // namespace

std::span<const Route> system_routes() { return kSystemRoutes; }

std::span<const Route> all_routes() {
  static const std::vector<Route> all_rows = [] {
    std::vector<Route> all;
    for (const auto some : {system_routes(), work_routes(), fleet_routes()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return all_rows;
}

}  // namespace vortex::api
