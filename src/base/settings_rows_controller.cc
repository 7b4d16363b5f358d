// The [controller] section of the settings table.

#include "base/networks.h"
#include "base/settings_table.h"

namespace vortex {
namespace {

using C = ControllerSettings;
template <auto Member>
constexpr auto kInController = &store_in<&Settings::controller, Member>;

constexpr std::string_view kClientCertificates[] = {"no", "workers", "all"};

constexpr SettingSpec kControllerRows[] = {
    {.section = "controller",
     .key = "heartbeat_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "60",
     .range = {1, 86400},
     .usual = {30, 600},
     .tuned = {"30", "60", "120", "5"},
     .doc = "How long a worker may be silent before it is OFFLINE and its tasks are reassigned: "
            "the worker's lease. If this is not set but `worker.heartbeat_interval_secs` is, it is "
            "three times that interval. Timing values that are not set are scaled with it.",
     .store = kInController<&C::heartbeat_timeout>},
    {.section = "controller",
     .key = "health_check_interval_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "15",
     .range = {0.1, 3600},
     .tuned = {"10", "15", "30", "2"},
     .doc = "How often the controller checks all workers and reports what it found. Deadlines do "
            "not wait for this pass.",
     .store = kInController<&C::health_check_interval>},
    {.section = "controller",
     .key = "max_task_retries",
     .kind = SettingKind::kCount,
     .fallback = "3",
     .range = {0, 1000},
     .doc = "How often a task is retried after its own failures, unless its DAG says otherwise. 0: "
            "never. Worker crashes do not count.",
     .store = kInController<&C::max_task_retries>},
    {.section = "controller",
     .key = "task_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "3600",
     .range = {1, 31536000},
     .doc = "Maximum duration of one attempt, unless its DAG says otherwise.",
     .store = kInController<&C::task_timeout>},
    {.section = "controller",
     .key = "scheduled_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "300",
     .range = {1, 86400},
     .tuned = {"300", "300", "300", "120"},
     .doc = "How long a task may be assigned to a worker without being started before it is "
            "reassigned.",
     .store = kInController<&C::scheduled_timeout>},
    {.section = "controller",
     .key = "timeout_check_interval_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "60",
     .range = {0.1, 3600},
     .doc = "Maximum time between two checks for tasks that were assigned but not started, and for "
            "all other deadlines. They are checked more often if `sweep_interval_ms` is shorter, "
            "as it usually is.",
     .store = kInController<&C::timeout_check_interval>},
    {.section = "controller",
     .key = "task_stale_timeout_seconds",
     .kind = SettingKind::kSeconds,
     .fallback = "600",
     .range = {60, 3600},
     .doc = "A running task that shows no progress for this long is timed out and queued again. By "
            "default this applies only to tasks that have reported progress; once it is set by "
            "file, environment or flag, it applies to every task. A task's own `stale_after` takes "
            "precedence.",
     .store = kInController<&C::task_stale_timeout>},
    {.section = "controller",
     .key = "worker_queue_ttl_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "300",
     .range = {1, 86400},
     .doc = "How long a task may wait for one specific worker before it becomes a dead letter.",
     .store = kInController<&C::worker_queue_ttl>},
    {.section = "controller",
     .key = "crash_limit",
     .kind = SettingKind::kCount,
     .fallback = "3",
     .range = {1, 100},
     .doc = "A task that was running on this many different workers when they died is quarantined "
            "as a dead letter.",
     .store = kInController<&C::crash_limit>},
    {.section = "controller",
     .key = "worker_cordon_after",
     .kind = SettingKind::kCount,
     .fallback = "3",
     .range = {1, 100},
     .doc = "A worker on which this many different tasks in a row died abnormally (killed by a "
            "signal or "
            "out of memory) is cordoned until it passes a probation. Tasks that could not be "
            "started do "
            "not count.",
     .store = kInController<&C::worker_cordon_after>},
    {.section = "controller",
     .key = "worker_cordon_share_percent",
     .kind = SettingKind::kCount,
     .fallback = "25",
     .range = {0, 100},
     .doc = "Maximum share of the present workers that may be cordoned because of abnormal task "
            "deaths, in percent. With two or more workers it is at least one worker, and never all "
            "of them. 0: no worker is cordoned for that reason.",
     .store = kInController<&C::worker_cordon_share>},
    {.section = "controller",
     .key = "worker_probation_after_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "300",
     .range = {1, 86400},
     .doc =
         "How long a worker that was cordoned because of abnormal task deaths gets no tasks. After "
         "that it is on probation and gets one task at a time: one that ends normally lifts the "
         "cordon, one that dies abnormally doubles the wait, up to 16 times this value.",
     .store = kInController<&C::worker_probation_after>},
    {.section = "controller",
     .key = "flapping_losses",
     .kind = SettingKind::kCount,
     .fallback = "3",
     .range = {0, 20},
     .doc = "A worker that is lost this many times within `controller.flapping_window_secs` is "
            "flapping: each further loss produces a `worker_flapping` event, and `vortex workers "
            "show` reports it. Clean shutdowns and resets by an operator do not count. 0: never.",
     .store = kInController<&C::flapping_losses>},
    {.section = "controller",
     .key = "flapping_window_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "3600",
     .range = {1, 86400},
     .doc = "The time window in which losses of a worker are counted to decide whether it is "
            "flapping.",
     .store = kInController<&C::flapping_window>},
    {.section = "controller",
     .key = "checkpoint_max_mib",
     .kind = SettingKind::kCount,
     .fallback = "64",
     .range = {1, 1024},
     .doc = "Maximum size of a task's checkpoint, in MiB. A larger one is rejected with a "
            "`checkpoint_refused` event and a line in the task's log; the previous one is kept.",
     .store = kInController<&C::checkpoint_max_mib>},
    {.section = "controller",
     .key = "outputs_max_kib",
     .kind = SettingKind::kCount,
     .fallback = "256",
     .range = {1, 8192},
     .doc = "Maximum size of a task's outputs, in KiB. An attempt that completes with larger ones "
            "fails. Raise it together with `worker.outputs_max_kib`, for example for a task that "
            "lists 100,000 items of a map. What maps and conditions read of outputs is kept "
            "in memory while their run is live.",
     .store = kInController<&C::outputs_max_kib>},
    {.section = "controller",
     .key = "reconnect_grace_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "2",
     .range = {0, 3600},
     .doc = "How long a worker whose connection closed and whose address refuses connections may "
            "take to come back before its tasks are reassigned. 0: immediately.",
     .store = kInController<&C::reconnect_grace>},
    {.section = "controller",
     .key = "reconcile_interval_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "60",
     .range = {1, 3600},
     .doc = "How often the light check of the whole state runs.",
     .store = kInController<&C::reconcile_interval>},
    {.section = "controller",
     .key = "partition_lease_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "30",
     .range = {1, 3600},
     .doc = "Duration of a partition lease; after that, anyone may acquire it.",
     .store = kInController<&C::partition_lease>},
    {.section = "controller",
     .key = "partition_renew_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "20",
     .range = {0.1, 3600},
     .doc = "When the holder of a partition lease should renew it, counted from when it was "
            "granted. Every response includes it (`renew_at`, `renew_after_ms`), and `vortex "
            "leases hold` follows it.",
     .store = kInController<&C::partition_renew>},
    {.section = "controller",
     .key = "sweep_interval_ms",
     .kind = SettingKind::kMillis,
     .fallback = "500",
     .range = {10, 60000},
     .tuned = {"250", "500", "500", "100"},
     .doc = "How often deadlines are checked: the tick of controller and worker.",
     .store = kInController<&C::sweep_interval>},
    {.section = "controller",
     .key = "max_tasks_per_run",
     .kind = SettingKind::kCount,
     .fallback = "1000000",
     .range = {1, 10000000},
     .doc = "Maximum number of tasks in a run, with maps expanded.",
     .store = kInController<&C::max_tasks_per_run>},
    {.section = "controller",
     .key = "max_dag_nodes",
     .kind = SettingKind::kCount,
     .fallback = "100000",
     .range = {1, 1000000},
     .doc = "Maximum number of nodes in a DAG; a map counts as one.",
     .store = kInController<&C::max_dag_nodes>},
    {.section = "controller",
     .key = "max_dag_needs",
     .kind = SettingKind::kCount,
     .fallback = "1000000",
     .range = {1, 10000000},
     .doc = "Maximum number of dependencies in a DAG.",
     .store = kInController<&C::max_dag_needs>},
    {.section = "controller",
     .key = "max_dag_depth",
     .kind = SettingKind::kCount,
     .fallback = "10000",
     .range = {1, 1000000},
     .doc = "Maximum length of a chain of dependencies in a DAG.",
     .store = kInController<&C::max_dag_depth>},
    {.section = "controller",
     .key = "quota_runs",
     .kind = SettingKind::kCount,
     .fallback = "1000000",
     .range = {0, 100000000},
     .doc = "Maximum number of live runs. A submit beyond it is answered with 429 and Retry-After. "
            "0: no "
            "limit.",
     .store = kInController<&C::quota_runs>},
    {.section = "controller",
     .key = "quota_tasks",
     .kind = SettingKind::kCount,
     .fallback = "20000000",
     .range = {0, 1000000000},
     .doc = "Maximum number of tasks of all live runs, with maps expanded. 0: no limit.",
     .store = kInController<&C::quota_tasks>},
    {.section = "controller",
     .key = "quota_mib",
     .kind = SettingKind::kCount,
     .fallback = "8192",
     .range = {0, 1048576},
     .doc = "Maximum size of the definitions and params of all live runs, in MiB. 0: no limit.",
     .store = kInController<&C::quota_mib>},
    {.section = "controller",
     .key = "token_quota_runs",
     .kind = SettingKind::kCount,
     .fallback = "500000",
     .range = {0, 100000000},
     .doc = "Maximum number of live runs submitted with one token. 0: no limit.",
     .store = kInController<&C::token_quota_runs>},
    {.section = "controller",
     .key = "token_quota_tasks",
     .kind = SettingKind::kCount,
     .fallback = "10000000",
     .range = {0, 1000000000},
     .doc = "Maximum number of tasks of the live runs submitted with one token, with maps "
            "expanded. 0: "
            "no limit.",
     .store = kInController<&C::token_quota_tasks>},
    {.section = "controller",
     .key = "token_quota_mib",
     .kind = SettingKind::kCount,
     .fallback = "4096",
     .range = {0, 1048576},
     .doc =
         "Maximum size of the definitions and params of the live runs submitted with one token, in "
         "MiB. 0: no limit.",
     .store = kInController<&C::token_quota_mib>},
    {.section = "controller",
     .key = "listen",
     .kind = SettingKind::kText,
     .fallback = "127.0.0.1:8080",
     .doc = "The address and port on which the controller listens; port 0 picks a free one. An "
            "address that other machines can reach is refused until there are tokens.",
     .store = kInController<&C::listen>},
    {.section = "controller",
     .key = "advertise_url",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The URL at which other controllers, workers and clients reach this controller, such "
            "as `https://controller-1.example.com:8443`. Empty: made from `listen`, with the host "
            "name of this machine in place of an address that stands for all of its addresses.",
     .store = kInController<&C::advertise_url>},
    {.section = "controller",
     .key = "require_tokens",
     .kind = SettingKind::kSwitch,
     .fallback = "true",
     .doc =
         "Whether every request needs a token, even on loopback. With false (or --no-tokens), "
         "every "
         "process on this machine can control this controller; on other addresses than loopback, "
         "tokens are always required.",
     .store = kInController<&C::require_tokens>},
    {.section = "controller",
     .key = "tls_cert_file",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc =
         "The certificate with which the controller serves HTTPS (PEM; its own first, then those "
         "above it). Needs `controller.tls_key_file`. Empty: plain HTTP. Both files are read "
         "again when they change. `vortex tls init` makes them.",
     .store = kInController<&C::tls_cert_file>},
    {.section = "controller",
     .key = "tls_key_file",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The private key of that certificate (PEM). Nobody else may be able to read it.",
     .store = kInController<&C::tls_key_file>},
    {.section = "controller",
     .key = "tls_client_ca_file",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The CA that signs client certificates (PEM). A client that shows a certificate of "
            "another CA is refused. Empty: clients are not asked for certificates.",
     .store = kInController<&C::tls_client_ca_file>},
    {.section = "controller",
     .key = "tls_require_client_cert",
     .kind = SettingKind::kChoice,
     .fallback = "no",
     .choices = kClientCertificates,
     .doc = "Who needs a client certificate besides a token: nobody, workers (for everything that "
            "only workers do), or all clients, which are refused in the handshake.",
     .store = kInController<&C::tls_require_client_cert>},
    {.section = "controller",
     .key = "worker_networks",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "Networks in which workers may have their health endpoint, separated by commas: "
            "`10.0.0.0/8, fd00::/8`. A worker's `address` must otherwise be the address it "
            "connects from, because the controller sends probes there. Needed behind a proxy or "
            "NAT.",
     .complain = complain_of_networks,
     .store = kInController<&C::worker_networks>},
    {.section = "controller",
     .key = "webhook_networks",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "Networks that webhooks may reach although they are not public, separated by commas: "
            "`10.1.0.0/16, 127.0.0.1`. Loopback, link-local, private and other special addresses "
            "are otherwise refused, also when a name resolves to one.",
     .complain = complain_of_networks,
     .store = kInController<&C::webhook_networks>},
    {.section = "controller",
     .key = "allow_extreme_timings",
     .kind = SettingKind::kSwitch,
     .fallback = "false",
     .doc = "Whether heartbeat intervals and timeouts outside the usual ranges may be set. The "
            "tuning `testing` allows them. Values that come from a tuning or are derived from "
            "others are not limited to the usual ranges.",
     // Only the settings themselves ask for it: nothing is stored.
     .store = [](Settings&, const SettingValue&) {}},
    {.section = "controller",
     .key = "io_threads",
     .kind = SettingKind::kCount,
     .fallback = "2",
     .range = {1, 64},
     .doc = "Number of threads that serve workers and clients.",
     .store = kInController<&C::io_threads>},
    {.section = "controller",
     .key = "max_connections",
     .kind = SettingKind::kCount,
     .fallback = "16384",
     .range = {8, 1000000},
     .doc = "Maximum number of connections; further ones are answered with 503. A worker uses two.",
     .store = kInController<&C::max_connections>},
    {.section = "controller",
     .key = "max_connections_per_address",
     .kind = SettingKind::kCount,
     .fallback = "4096",
     .range = {1, 1000000},
     .doc = "Maximum number of connections from one address (for IPv6: from one /64 network), so "
            "that no single client can use them all. It never exceeds three quarters of "
            "`controller.max_connections`, which is also the limit for loopback. Clients behind a "
            "reverse proxy share its address. `/livez` is answered even when no connections are "
            "left.",
     .store = kInController<&C::max_connections_per_address>},
    {.section = "controller",
     .key = "max_body_mib",
     .kind = SettingKind::kCount,
     .fallback = "64",
     .range = {1, 1024},
     .doc = "Maximum size of a request, in MiB. Most routes accept far less.",
     .store = kInController<&C::max_body_mib>},
    {.section = "controller",
     .key = "body_budget_mib",
     .kind = SettingKind::kCount,
     .fallback = "512",
     .range = {1, 1048576},
     .doc = "Maximum size of all request bodies in memory together, in MiB; further ones are "
            "answered with 503 and Retry-After. A quarter of it is kept for workers. Bodies of up "
            "to 16 KiB do not count. At least `controller.max_body_mib` is always available.",
     .store = kInController<&C::body_budget_mib>},
    {.section = "controller",
     .key = "body_budget_per_token_mib",
     .kind = SettingKind::kCount,
     .fallback = "128",
     .range = {1, 1048576},
     .doc = "The same for the requests of one token, or of one address if tokens are off; further "
            "ones are answered with 429 and Retry-After.",
     .store = kInController<&C::body_budget_per_token_mib>},
    {.section = "controller",
     .key = "document_threads",
     .kind = SettingKind::kCount,
     .fallback = "2",
     .range = {1, 64},
     .doc = "Number of threads that read DAGs, params and other large documents. They run at low "
            "priority, so that heartbeats never wait for them.",
     .store = kInController<&C::document_threads>},
    {.section = "controller",
     .key = "document_queue_max",
     .kind = SettingKind::kCount,
     .fallback = "256",
     .range = {1, 100000},
     .doc = "Maximum number of documents waiting to be read; further ones are answered with 503 "
            "and Retry-After. One token, or one address if tokens are off, may use half of it. "
            "Clients take turns.",
     .store = kInController<&C::document_queue_max>},
    {.section = "controller",
     .key = "inbox_max",
     .kind = SettingKind::kCount,
     .fallback = "10000",
     .range = {10, 1000000},
     .doc = "Maximum number of requests waiting for the engine; further ones are answered with 503 "
            "and Retry-After.",
     .store = kInController<&C::inbox_max>},
    {.section = "controller",
     .key = "leader_lease_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "10",
     .range = {0.05, 3600},
     .tuned = {"10", "10", "10", "1.5"},
     .doc = "How long a controller stays leader without renewing, when several share a database; a "
            "frozen leader is replaced after that. Workers that hear from no leader for "
            "`worker.self_fence_secs` kill their tasks, so it must be shorter than that by two "
            "heartbeats.",
     .store = kInController<&C::leader_lease>},
};

}  // namespace

std::span<const SettingSpec> controller_rows() { return kControllerRows; }

}  // namespace vortex
