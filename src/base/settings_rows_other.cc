// The key at the top of the file and the sections [database], [monitoring] and [secrets] of the
// settings table.

#include "base/settings_table.h"
#include "base/text.h"

namespace vortex {
namespace {

std::string complain_of_url(std::string_view text) {
  const bool names_one = text.starts_with("postgresql://") || text.starts_with("postgres://") ||
                         text.find('=') != std::string_view::npos;
  if (text.empty() || names_one) return {};
  return "is not a connection string of PostgreSQL, such as postgresql://user@host/name";
}

constexpr std::string_view kLogLevels[] = {"trace", "debug", "info", "warn", "error"};

constexpr SettingSpec kOtherRows[] = {
    {.section = "",
     .key = "tuning",
     .kind = SettingKind::kChoice,
     .fallback = "standard",
     .choices = kTuningNames,
     .doc = "A named set of timing values for one kind of network. Values that are set explicitly "
            "override it.",
     .store = [](Settings& s, const SettingValue& v) { assign(s.tuning, v); }},
    {.section = "database",
     .key = "path",
     .kind = SettingKind::kText,
     .fallback = "./vortex.db",
     .doc = "The SQLite file. It is created if it does not exist.",
     .store = &store_in<&Settings::database, &DatabaseSettings::path>},
    {.section = "database",
     .key = "url",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc =
         "A PostgreSQL database instead of the file: `postgresql://user@host/name`, or any other "
         "connection string of libpq. With several hosts, the one that can be written to is "
         "used. Empty: the SQLite file. Passwords in it are never shown; a `~/.pgpass` file is "
         "safer. Tokens and logs of this machine stay next to `database.path`.",
     .complain = &complain_of_url,
     .conceal = &without_password,
     .store = &store_in<&Settings::database, &DatabaseSettings::url>},
    {.section = "database",
     .key = "pool_size",
     .kind = SettingKind::kCount,
     .fallback = "10",
     .range = {1, 1000},
     .doc = "Number of connections for reading. Writing uses a separate one.",
     .store = &store_in<&Settings::database, &DatabaseSettings::pool_size>},
    {.section = "database",
     .key = "io_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "10",
     .range = {0.05, 3600},
     .tuned = {"4.5", "10", "20", "0.6"},
     .doc = "How long one database operation may take before the controller considers it lost.",
     .store = &store_in<&Settings::database, &DatabaseSettings::io_timeout>},
    {.section = "database",
     .key = "retain_runs_days",
     .kind = SettingKind::kCount,
     .fallback = "30",
     .range = {0, 36500},
     .doc = "Finished runs are deleted after this many days, with their tasks and logs. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_runs_days>},
    {.section = "database",
     .key = "retain_runs_max",
     .kind = SettingKind::kCount,
     .fallback = "1000000",
     .range = {0, 1000000000},
     .doc = "Maximum number of finished runs to keep; the oldest are deleted first. 0: no limit.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_runs_max>},
    {.section = "database",
     .key = "retain_events_days",
     .kind = SettingKind::kCount,
     .fallback = "7",
     .range = {0, 36500},
     .doc = "Events are deleted after this many days. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_events_days>},
    {.section = "database",
     .key = "retain_workers_days",
     .kind = SettingKind::kCount,
     .fallback = "30",
     .range = {0, 36500},
     .doc = "Workers that are INACTIVE or OFFLINE are deleted after this many days, and machines "
            "with their last worker. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_workers_days>},
    {.section = "database",
     .key = "retain_leases_days",
     .kind = SettingKind::kCount,
     .fallback = "30",
     .range = {0, 36500},
     .doc = "Partition leases without a holder are deleted after this many days. A lease that is "
            "acquired again later still gets a higher epoch. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_leases_days>},
    {.section = "database",
     .key = "retain_recoveries_days",
     .kind = SettingKind::kCount,
     .fallback = "90",
     .range = {0, 36500},
     .doc = "Entries of the recovery ledger are deleted after this many days. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_recoveries_days>},
    {.section = "database",
     .key = "retain_audit_days",
     .kind = SettingKind::kCount,
     .fallback = "90",
     .range = {0, 36500},
     .doc = "Entries of the audit log are deleted after this many days. 0: never.",
     .store = &store_in<&Settings::database, &DatabaseSettings::retain_audit_days>},
    {.section = "database",
     .key = "log_head_kib",
     .kind = SettingKind::kCount,
     .fallback = "1024",
     .range = {1, 1048576},
     .doc = "How much of the beginning of an attempt's output to keep, in KiB.",
     .store = &store_in<&Settings::database, &DatabaseSettings::log_head_kib>},
    {.section = "database",
     .key = "log_tail_kib",
     .kind = SettingKind::kCount,
     .fallback = "3072",
     .range = {1, 1048576},
     .doc = "How much of the end of an attempt's output to keep, in KiB. Anything between head and "
            "tail is dropped and marked.",
     .store = &store_in<&Settings::database, &DatabaseSettings::log_tail_kib>},
    {.section = "database",
     .key = "space_reserve_mib",
     .kind = SettingKind::kCount,
     .fallback = "16",
     .range = {0, 65536},
     .doc = "Disk space reserved next to the database, in MiB. When the disk is full, it is "
            "released so that running work can finish, and new work is refused. 0: none.",
     .store = &store_in<&Settings::database, &DatabaseSettings::space_reserve_mib>},
    {.section = "monitoring",
     .key = "log_level",
     .kind = SettingKind::kChoice,
     .fallback = "info",
     .choices = kLogLevels,
     .doc = "Minimum level of log lines.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::log_level>},
    {.section = "monitoring",
     .key = "metrics_enabled",
     .kind = SettingKind::kSwitch,
     .fallback = "true",
     .doc = "Whether metrics are collected and served.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::metrics_enabled>},
    {.section = "monitoring",
     .key = "monitor_log",
     .kind = SettingKind::kText,
     .fallback = "auto",
     .doc = "The monitor log: one JSON object per line for everything that happened. `auto`: "
            "`monitor.log` next to the database. `off`: none.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::monitor_log>},
    {.section = "monitoring",
     .key = "monitor_log_mib",
     .kind = SettingKind::kCount,
     .fallback = "256",
     .range = {1, 1048576},
     .doc = "Maximum size of the monitor log, in MiB; a larger one is renamed to `<name>.1` and a "
            "new one is started.",
     .store = &store_in<&Settings::monitoring, &MonitoringSettings::monitor_log_mib>},
    {.section = "secrets",
     .key = "master_key_file",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "File with the master key that seals all secrets; `vortex secrets init` makes one. "
            "Only the controller's user may be able to read it. Empty: the key comes from "
            "`secrets.master_key_command`, from the environment (VORTEX_SECRETS_MASTER_KEY) or "
            "from the systemd credential `vortex-master-key`; without any, secrets are disabled.",
     .store = &store_in<&Settings::secrets, &SecretsSettings::master_key_file>},
    {.section = "secrets",
     .key = "previous_master_key_file",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "File with the previous master key, while the master key is being replaced: what it "
            "sealed is still readable and is sealed again with the new one. Empty: none.",
     .store = &store_in<&Settings::secrets, &SecretsSettings::previous_master_key_file>},
    {.section = "secrets",
     .key = "master_key_command",
     .kind = SettingKind::kText,
     .fallback = "",
     .doc = "Shell command that prints the master key, for example one that asks a KMS. Used if "
            "`secrets.master_key_file` is empty. Empty: none.",
     .store = &store_in<&Settings::secrets, &SecretsSettings::master_key_command>},
    {.section = "secrets",
     .key = "master_key_command_timeout_secs",
     .kind = SettingKind::kSeconds,
     .fallback = "30",
     .range = {0.1, 600},
     .doc = "How long `secrets.master_key_command` may take.",
     .store = &store_in<&Settings::secrets, &SecretsSettings::master_key_command_timeout>},
};

}  // namespace

std::span<const SettingSpec> other_rows() { return kOtherRows; }

}  // namespace vortex
