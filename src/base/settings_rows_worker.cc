// The [worker] section of the settings table.

#include "base/settings_store.h"
#include "base/settings_table.h"

namespace vortex {
namespace {

using W = WorkerSettings;
template <auto Member>
constexpr auto kStore = &store_in<&Settings::worker, Member>;

constexpr std::string_view kBackoffs[] = {"exponential", "linear", "fixed"};
constexpr std::string_view kLaunchers[] = {"subprocess", "container"};

constexpr SettingSpec kRows[] = {
    {.section = "worker",
     .key = "heartbeat_interval_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "10",
     .range = {0.05, 3600},
     .usual = {5, 120},
     .tuned = {"3", "10", "20", "0.5"},
     .doc = "The longest time between two heartbeats of a worker. It beats sooner when it has "
            "something to say, and when the timeout was made from this interval.",
     .store = kStore<&W::heartbeat_interval>},
    {.section = "worker",
     .key = "name",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc =
         "Workers are called NAME-1, NAME-2 and so on. Empty: the host name. Short flag: `--name`.",
     .store = kStore<&W::name>},
    {.section = "worker",
     .key = "zone",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The zone a worker is in, to find it by. Short flag: `--zone`.",
     .store = kStore<&W::zone>},
    {.section = "worker",
     .key = "group",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The group a worker belongs to, to find it by. Short flag: `--group`.",
     .store = kStore<&W::group>},
    {.section = "worker",
     .key = "self_fence_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "40",
     .range = {0.2, 86400},
     .tuned = {"18", "40", "80", "2.5"},
     .doc =
         "A worker that had no answer for this long, counted from when it sent the last answered "
         "heartbeat, kills its tasks: they may soon run elsewhere.",
     .store = kStore<&W::self_fence>},
    {.section = "worker",
     .key = "kill_grace_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "15",
     .range = {0.05, 3600},
     .tuned = {"8", "15", "30", "1"},
     .doc = "The time from TERM until all processes of a task are gone by KILL.",
     .store = kStore<&W::kill_grace>},
    {.section = "worker",
     .key = "tcp_user_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "20",
     .range = {0.05, 3600},
     .tuned = {"9", "20", "40", "1.2"},
     .doc = "A connection whose data stays unacknowledged for this long is dropped.",
     .store = kStore<&W::tcp_user_timeout>},
    {.section = "worker",
     .key = "shutdown_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "30",
     .range = {0, 86400},
     .doc = "How long running tasks may take to finish after the worker was asked to stop. 0: they "
            "are stopped at once and go to others.",
     .store = kStore<&W::shutdown_timeout>},
    {.section = "worker",
     .key = "spawn_retry_attempts",
     .kind = SettingKind::kCount,
     .fallback = "3",
     .range = {1, 10},
     .doc = "How often the supervisor tries to start a worker process before it gives up.",
     .store = kStore<&W::spawn_retry_attempts>},
    {.section = "worker",
     .key = "spawn_backoff_strategy",
     .kind = SettingKind::kChoice,
     .fallback = "exponential",
     .choices = kBackoffs,
     .doc = "How the wait between those tries grows: doubled, by the base each time, or not.",
     .store = kStore<&W::spawn_backoff_strategy>},
    {.section = "worker",
     .key = "spawn_backoff_base_seconds",
     .kind = SettingKind::kSeconds,
     .fallback = "2",
     .range = {1, 60},
     .doc = "The first wait between those tries.",
     .store = kStore<&W::spawn_backoff_base>},
    {.section = "worker",
     .key = "spawn_backoff_max_seconds",
     .kind = SettingKind::kSeconds,
     .fallback = "30",
     .range = {1, 300},
     .doc = "The longest wait between those tries.",
     .store = kStore<&W::spawn_backoff_max>},
    {.section = "worker",
     .key = "auto_respawn",
     .kind = SettingKind::kSwitch,
     .fallback = "true",
     .doc = "Whether a worker process that died is started again.",
     .store = kStore<&W::auto_respawn>},
    {.section = "worker",
     .key = "max_respawn_attempts",
     .kind = SettingKind::kCount,
     .fallback = "5",
     .range = {0, 20},
     .doc = "How often that happens for one worker before the supervisor gives up. 0: never.",
     .store = kStore<&W::max_respawn_attempts>},
    {.section = "worker",
     .key = "launcher",
     .kind = SettingKind::kChoice,
     .fallback = "subprocess",
     .choices = kLaunchers,
     .doc =
         "How a worker process is started: as a plain process of the supervisor, or as the first "
         "process of a container of its own, with processes, mounts and host name apart from the "
         "machine's.",
     .store = kStore<&W::launcher>},
    {.section = "worker",
     .key = "container_root",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The folder that tasks have as their root, such as an unpacked image; only with the "
            "launcher `container`. Empty: the root of the machine.",
     .store = kStore<&W::container_root>},
    {.section = "worker",
     .key = "health_address",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "The address on which a worker process answers `/health`, `/livez` and `/readyz`. The "
            "controller probes it there, so it must be one that the controller can reach; for "
            "`0.0.0.0` or `::` the worker registers the address that faces the controller. Empty: "
            "listen on that address alone.",
     .store = kStore<&W::health_address>},
    {.section = "worker",
     .key = "health_port",
     .kind = SettingKind::kCount,
     .fallback = "0",
     .range = {0, 65535},
     .doc =
         "The port of those answers for the first worker of a supervisor; the second one has the "
         "next port, and so on. 0: any free port.",
     .store = kStore<&W::health_port>},
};

}  // namespace

std::span<const SettingSpec> worker_rows() { return kRows; }

}  // namespace vortex
