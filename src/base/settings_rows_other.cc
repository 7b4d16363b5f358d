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
};

}  // namespace

std::span<const SettingSpec> other_rows() { return kRows; }

}  // namespace vortex
