// The key at the top of the file and the sections [database] and [monitoring] of the settings
// table.

#include "base/settings_store.h"
#include "base/settings_table.h"

namespace vortex {
namespace {

constexpr std::string_view kLogLevels[] = {"trace", "debug", "info", "warn", "error"};

constexpr SettingSpec kRows[] = {
    {.section = "",
     .key = "tuning",
     .kind = SettingKind::kChoice,
     .fallback = "standard",
     .choices = kTuningNames,
     .doc = "A named set of timing values for one kind of network. Values that are set themselves "
            "override it.",
     .store = [](Settings& s, const SettingValue& v) { assign(s.tuning, v); }},
    {.section = "database",
     .key = "path",
     .kind = SettingKind::kText,
     .fallback = "./vortex.db",
     .doc = "The SQLite file. It is created when it does not exist.",
     .store = &store_in<&Settings::database, &DatabaseSettings::path>},
    {.section = "database",
     .key = "pool_size",
     .kind = SettingKind::kCount,
     .fallback = "10",
     .range = {1, 1000},
     .doc = "Connections for reading. Writing has one of its own.",
     .store = &store_in<&Settings::database, &DatabaseSettings::pool_size>},
    {.section = "database",
     .key = "io_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "10",
     .range = {0.05, 3600},
     .tuned = {"4.5", "10", "20", "0.6"},
     .doc = "How long one exchange with the database may take before the controller calls it lost.",
     .store = &store_in<&Settings::database, &DatabaseSettings::io_timeout>},
    {.section = "database",
     .key = "retain_runs_days",
     .kind = SettingKind::kCount,
     .fallback = "30",
     .range = {0, 36500},
     .doc =
         "Finished runs are forgotten after this many days, with their tasks and logs. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_runs_days>},
    {.section = "database",
     .key = "retain_runs_max",
     .kind = SettingKind::kCount,
     .fallback = "1000000",
     .range = {0, 1000000000},
     .doc = "At most this many finished runs are kept; the oldest go first. 0: any number.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_runs_max>},
    {.section = "database",
     .key = "retain_events_days",
     .kind = SettingKind::kCount,
     .fallback = "7",
     .range = {0, 36500},
     .doc = "Events are forgotten after this many days. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_events_days>},
    {.section = "database",
     .key = "retain_workers_days",
     .kind = SettingKind::kCount,
     .fallback = "30",
     .range = {0, 36500},
     .doc = "Workers that are INACTIVE or OFFLINE are forgotten after this many days, and machines "
            "with "
            "their last worker. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_workers_days>},
    {.section = "database",
     .key = "retain_leases_days",
     .kind = SettingKind::kCount,
     .fallback = "30",
     .range = {0, 36500},
     .doc =
         "Partition leases that nobody has held for this many days are forgotten. A lease that is "
         "acquired again later still gets a higher epoch. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_leases_days>},
    {.section = "database",
     .key = "retain_recoveries_days",
     .kind = SettingKind::kCount,
     .fallback = "90",
     .range = {0, 36500},
     .doc = "Rows of the recovery ledger are forgotten after this many days. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_recoveries_days>},
    {.section = "database",
     .key = "log_head_kib",
     .kind = SettingKind::kCount,
     .fallback = "1024",
     .range = {1, 1048576},
     .doc = "How much of the beginning of an attempt's output is kept, in KiB.",
     .store = &store_in<&Settings::database, &DatabaseSettings::log_head_kib>},
    {.section = "database",
     .key = "log_tail_kib",
     .kind = SettingKind::kCount,
     .fallback = "3072",
     .range = {1, 1048576},
     .doc =
         "How much of the end of an attempt's output is kept, in KiB. What lies between head and "
         "tail is dropped and marked.",
     .store = &store_in<&Settings::database, &DatabaseSettings::log_tail_kib>},
    {.section = "database",
     .key = "space_reserve_mib",
     .kind = SettingKind::kCount,
     .fallback = "16",
     .range = {0, 65536},
     .doc =
         "Disk space held back beside the database, in MiB. When the disk is full it is given up "
         "so that running work can still be finished, and new work is refused. 0: none.",
     .store = &store_in<&Settings::database, &DatabaseSettings::space_reserve_mib>},
    {.section = "monitoring",
     .key = "log_level",
     .kind = SettingKind::kChoice,
     .fallback = "info",
     .choices = kLogLevels,
     .doc = "The least important kind of line that is still logged.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::log_level>},
    {.section = "monitoring",
     .key = "metrics_enabled",
     .kind = SettingKind::kSwitch,
     .fallback = "true",
     .doc = "Whether metrics are kept and served.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::metrics_enabled>},
    {.section = "monitoring",
     .key = "monitor_log",
     .kind = SettingKind::kText,
     .fallback = "auto",
     .doc = "The monitor log: one JSON object a line for everything that happened. `auto`: "
            "`monitor.log` beside the database. `off`: none.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::monitor_log>},
    {.section = "monitoring",
     .key = "monitor_log_mib",
     .kind = SettingKind::kCount,
     .fallback = "256",
     .range = {1, 1048576},
     .doc = "A monitor log larger than this, in MiB, is renamed to `<name>.1` and a new one begun.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::monitor_log_mib>},
};

}  // namespace

std::span<const SettingSpec> other_rows() { return kRows; }

}  // namespace vortex
