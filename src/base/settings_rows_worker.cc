// The [worker] section of the settings table.

#include "base/settings_table.h"

namespace vortex {
namespace {

using W = WorkerSettings;
template <auto Member>
constexpr auto kInWorker = &store_in<&Settings::worker, Member>;

constexpr std::string_view kBackoffs[] = {"exponential", "linear", "fixed"};
constexpr std::string_view kLaunchers[] = {"subprocess", "container"};
constexpr std::string_view kTaskNetworks[] = {"host", "none"};

constexpr SettingSpec kWorkerRows[] = {
    {.section = "worker",
     .key = "heartbeat_interval_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "10",
     .range = {0.05, 3600},
     .usual = {5, 120},
     .tuned = {"3", "10", "20", "0.5"},
     .doc = "Maximum time between two heartbeats of a worker. It sends one sooner if it has "
            "something to report, or if the timeout was derived from this interval.",
     .store = kInWorker<&W::heartbeat_interval>},
    {.section = "worker",
     .key = "name",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc =
         "Workers are named NAME-1, NAME-2 and so on. Empty: the host name. Short flag: `--name`.",
     .store = kInWorker<&W::name>},
    {.section = "worker",
     .key = "zone",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The zone of a worker, for display and filtering. Short flag: `--zone`.",
     .store = kInWorker<&W::zone>},
    {.section = "worker",
     .key = "group",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The group of a worker, for display and filtering. Short flag: `--group`.",
     .store = kInWorker<&W::group>},
    {.section = "worker",
     .key = "self_fence_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "40",
     .range = {0.2, 86400},
     .tuned = {"18", "40", "80", "2.5"},
     .doc = "A worker that has had no response for this long, counted from when it sent the last "
            "answered heartbeat, kills its tasks: they may soon run elsewhere.",
     .store = kInWorker<&W::self_fence>},
    {.section = "worker",
     .key = "kill_grace_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "15",
     .range = {0.05, 3600},
     .tuned = {"8", "15", "30", "1"},
     .doc = "Time between TERM and KILL for the processes of a task.",
     .store = kInWorker<&W::kill_grace>},
    {.section = "worker",
     .key = "tcp_user_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "20",
     .range = {0.05, 3600},
     .tuned = {"9", "20", "40", "1.2"},
     .doc = "A connection whose data stays unacknowledged for this long is dropped.",
     .store = kInWorker<&W::tcp_user_timeout>},
    {.section = "worker",
     .key = "shutdown_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "30",
     .range = {0, 86400},
     .doc = "How long running tasks may take to finish after the worker was asked to stop. 0: they "
            "are stopped immediately and reassigned.",
     .store = kInWorker<&W::shutdown_timeout>},
    {.section = "worker",
     .key = "spawn_retry_attempts",
     .kind = SettingKind::kCount,
     .fallback = "3",
     .range = {1, 10},
     .doc = "How often the supervisor tries to start a worker process before it gives up.",
     .store = kInWorker<&W::spawn_retry_attempts>},
    {.section = "worker",
     .key = "spawn_backoff_strategy",
     .kind = SettingKind::kChoice,
     .fallback = "exponential",
     .choices = kBackoffs,
     .doc =
         "How the delay between those tries grows: doubling, by the base each time, or not at all.",
     .store = kInWorker<&W::spawn_backoff_strategy>},
    {.section = "worker",
     .key = "spawn_backoff_base_seconds",
     .kind = SettingKind::kSeconds,
     .fallback = "2",
     .range = {1, 60},
     .doc = "The first delay between those tries.",
     .store = kInWorker<&W::spawn_backoff_base>},
    {.section = "worker",
     .key = "spawn_backoff_max_seconds",
     .kind = SettingKind::kSeconds,
     .fallback = "30",
     .range = {1, 300},
     .doc = "The maximum delay between those tries.",
     .store = kInWorker<&W::spawn_backoff_max>},
    {.section = "worker",
     .key = "auto_respawn",
     .kind = SettingKind::kSwitch,
     .fallback = "true",
     .doc = "Whether a worker process that died is restarted.",
     .store = kInWorker<&W::auto_respawn>},
    {.section = "worker",
     .key = "max_respawn_attempts",
     .kind = SettingKind::kCount,
     .fallback = "5",
     .range = {0, 20},
     .doc = "Maximum number of restarts of one worker before the supervisor gives up. 0: none.",
     .store = kInWorker<&W::max_respawn_attempts>},
    {.section = "worker",
     .key = "launcher",
     .kind = SettingKind::kChoice,
     .fallback = "subprocess",
     .choices = kLaunchers,
     .doc = "How a worker process is started: as a plain subprocess of the supervisor, or as the "
            "first process of its own container, with separate processes, mounts and host name.",
     .store = kInWorker<&W::launcher>},
    {.section = "worker",
     .key = "container_root",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The directory that tasks get as their root, such as an unpacked image; only with the "
            "launcher `container`. Empty: the machine's root.",
     .store = kInWorker<&W::container_root>},
    {.section = "worker",
     .key = "health_address",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The address on which a worker process serves `/health`, `/livez` and `/readyz`. The "
            "controller probes it there, so the controller must be able to reach it; for `0.0.0.0` "
            "or `::` the worker registers the address that faces the controller. Empty: listen on "
            "that address only.",
     .store = kInWorker<&W::health_address>},
    {.section = "worker",
     .key = "health_port",
     .kind = SettingKind::kCount,
     .fallback = "0",
     .range = {0, 65535},
     .doc = "The port of the health endpoint for the first worker of a supervisor; the second one "
            "uses the next port, and so on. 0: any free port.",
     .store = kInWorker<&W::health_port>},
    {.section = "worker",
     .key = "task_user",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The user that tasks run as: USER, USER:GROUP or UID:GID. They get no supplementary "
            "groups and can never gain privileges. Requires a worker that runs as root. Empty: the "
            "worker's own user.",
     .store = kInWorker<&W::task_user>},
    {.section = "worker",
     .key = "task_users_allowed",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc =
         "Users that a DAG may choose for its tasks with `user:`, separated by commas, each as "
         "in `task_user`. Tasks that choose another user do not go to this worker. root is "
         "allowed only if it is listed as root or 0. Requires a worker that runs as root. Empty: "
         "none, all tasks run as `task_user`.",
     .store = kInWorker<&W::task_users_allowed>},
    {.section = "worker",
     .key = "task_limit_processes",
     .kind = SettingKind::kCount,
     .fallback = "0",
     .range = {0, 4194304},
     .doc = "Maximum number of processes and threads: of each task where control groups can limit "
            "it, and with `task_user` of that user as a whole. 0: 4096 for each task where control "
            "groups can limit it.",
     .store = kInWorker<&W::task_limit_processes>},
    {.section = "worker",
     .key = "outputs_max_kib",
     .kind = SettingKind::kCount,
     .fallback = "256",
     .range = {1, 8192},
     .doc = "Maximum size of a task's outputs, in KiB: a task that writes more to $VORTEX_OUTPUTS "
            "fails. The controller has a limit of its own, `controller.outputs_max_kib`.",
     .store = kInWorker<&W::outputs_max_kib>},
    {.section = "worker",
     .key = "task_limit_open_files",
     .kind = SettingKind::kCount,
     .fallback = "0",
     .range = {0, 1048576},
     .doc = "Maximum number of open files of each process of a task. 0: the worker's limit.",
     .store = kInWorker<&W::task_limit_open_files>},
    {.section = "worker",
     .key = "task_limit_core_bytes",
     .kind = SettingKind::kCount,
     .fallback = "0",
     .range = {0, 1099511627776},
     .doc = "Maximum size of a core dump of a task, in bytes. 0: no core dumps.",
     .store = kInWorker<&W::task_limit_core_bytes>},
    {.section = "worker",
     .key = "task_read_only_root",
     .kind = SettingKind::kSwitch,
     .fallback = "false",
     .doc = "Whether tasks see the file system read-only, except for the directory of their own "
            "files and /tmp, /var/tmp and /dev/shm. Requires a worker that runs as root.",
     .store = kInWorker<&W::task_read_only_root>},
    {.section = "worker",
     .key = "task_network",
     .kind = SettingKind::kChoice,
     .fallback = "host",
     .choices = kTaskNetworks,
     .doc =
         "The network of tasks: the machine's (host), or none but a loopback of their own. `none` "
         "requires a worker that runs as root; `vortex fence check` does not work in such tasks.",
     .store = kInWorker<&W::task_network>},
};

}  // namespace

std::span<const SettingSpec> worker_rows() { return kWorkerRows; }

}  // namespace vortex
