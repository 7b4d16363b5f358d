#pragma once
// The settings of controller and worker: typed values, read once at start and then fixed.
//
// Every setting is declared once, in the table (settings_table.h): its key, unit, default, range
// and meaning. load_settings() takes texts, not files: it reads no file, environment or clock
// itself, and gives either settings that keep every range and timing rule, or all the errors found.
// Order of precedence: flag, environment, file, tuning or derivation, default.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace vortex {

// The order of these is the order of the choices in the table.
enum class Tuning : std::uint8_t { kLan, kStandard, kWan, kTesting };
enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
enum class SpawnBackoff : std::uint8_t { kExponential, kLinear, kFixed };
enum class Launcher : std::uint8_t { kSubprocess, kContainer };
enum class TaskNetwork : std::uint8_t { kHost, kNone };
enum class ClientCertificates : std::uint8_t { kNo, kWorkers, kAll };

// Members carry no defaults: those are in the table. Use default_settings() for them.
struct ControllerSettings {
  Duration heartbeat_timeout{};  // L, the worker's lease
  Duration health_check_interval{};
  std::uint32_t max_task_retries = 0;
  Duration task_timeout{};
  Duration scheduled_timeout{};  // S
  Duration timeout_check_interval{};
  Duration task_stale_timeout{};
  bool task_stale_for_all = false;  // set by hand: holds without any progress, too
  Duration worker_queue_ttl{};
  std::uint32_t crash_limit = 0;
  std::uint32_t worker_cordon_after = 0;
  std::uint32_t worker_cordon_share = 0;  // percent of the present workers; 0: no worker is
  Duration worker_probation_after{};
  std::uint32_t flapping_losses = 0;  // 0: nobody is called flapping
  Duration flapping_window{};
  std::uint32_t checkpoint_max_mib = 0;
  std::uint32_t outputs_max_kib = 0;
  Duration reconnect_grace{};
  Duration reconcile_interval{};
  Duration partition_lease{};
  Duration partition_renew{};
  Duration sweep_interval{};  // the tick of every deadline
  std::uint32_t max_tasks_per_run = 0;
  std::uint32_t max_dag_nodes = 0;
  std::uint32_t max_dag_needs = 0;
  std::uint32_t max_dag_depth = 0;
  // Of live runs, in all and per token; 0: no limit.
  std::uint32_t quota_runs = 0;
  std::uint32_t quota_tasks = 0;
  std::uint32_t quota_mib = 0;
  std::uint32_t token_quota_runs = 0;
  std::uint32_t token_quota_tasks = 0;
  std::uint32_t token_quota_mib = 0;
  std::string listen;         // address:port
  std::string advertise_url;  // empty: made from the address it listens on
  std::uint32_t io_threads = 0;
  std::uint32_t max_connections = 0;
  std::uint32_t max_connections_per_address = 0;
  std::uint32_t max_body_mib = 0;
  std::uint32_t body_budget_mib = 0;
  std::uint32_t body_budget_per_token_mib = 0;
  std::uint32_t document_threads = 0;
  std::uint32_t document_queue_max = 0;
  std::uint32_t inbox_max = 0;
  Duration leader_lease{};
  bool require_tokens = false;
  std::string tls_cert_file;  // empty, like the key: plain HTTP
  std::string tls_key_file;
  std::string tls_client_ca_file;  // empty: clients are not asked for certificates
  ClientCertificates tls_require_client_cert{};
  std::string worker_networks;   // empty: a worker is where it calls from
  std::string webhook_networks;  // empty: only public addresses
};

struct WorkerSettings {
  std::string name;  // empty: the host name
  std::string zone;
  std::string group;
  Duration heartbeat_interval{};  // H
  Duration self_fence{};          // F
  Duration kill_grace{};          // K
  Duration tcp_user_timeout{};
  Duration shutdown_timeout{};
  std::uint32_t spawn_retry_attempts = 0;
  SpawnBackoff spawn_backoff_strategy{};
  Duration spawn_backoff_base{};
  Duration spawn_backoff_max{};
  bool auto_respawn = false;
  std::uint32_t max_respawn_attempts = 0;
  Launcher launcher{};
  std::string container_root;               // empty: tasks see the file system of the machine
  std::string health_address;               // empty: the one that faces the controller
  std::uint32_t health_port = 0;            // of the first worker; 0: any that is free
  std::string task_user;                    // user or user:group; empty: the worker's
  std::string task_users_allowed;           // whom tasks may choose instead; empty: nobody
  std::uint32_t outputs_max_kib = 0;        // of one task
  std::uint32_t task_limit_processes = 0;   // 0: no limit of ours
  std::uint32_t task_limit_open_files = 0;  // the same
  std::uint64_t task_limit_core_bytes = 0;
  bool task_read_only_root = false;
  TaskNetwork task_network{};
};

struct DatabaseSettings {
  std::string path;
  std::string url;  // empty: the file
  std::uint32_t pool_size = 0;
  Duration io_timeout{};
  std::uint32_t retain_runs_days = 0;  // 0: for ever
  std::uint32_t retain_runs_max = 0;   // 0: any number
  std::uint32_t retain_events_days = 0;
  std::uint32_t retain_workers_days = 0;
  std::uint32_t retain_leases_days = 0;
  std::uint32_t retain_recoveries_days = 0;
  std::uint32_t retain_audit_days = 0;
  std::uint32_t log_head_kib = 0;
  std::uint32_t log_tail_kib = 0;
  std::uint32_t space_reserve_mib = 0;
};

struct MonitoringSettings {
  LogLevel log_level{};
  bool metrics_enabled = false;
  std::string monitor_log;  // auto: monitor.log beside the database; off: none
  std::uint32_t monitor_log_mib = 0;
};

struct SecretsSettings {
  std::string master_key_file;
  std::string previous_master_key_file;
  std::string master_key_command;
  Duration master_key_command_timeout{};
};

struct Settings {
  Tuning tuning{};
  ControllerSettings controller;
  WorkerSettings worker;
  DatabaseSettings database;
  MonitoringSettings monitoring;
  SecretsSettings secrets;
};

struct SettingsFile {
  std::string name;  // as the user wrote it, for messages
  std::string text;
};

struct LoadRequest {
  std::optional<SettingsFile> file;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string>
      flags;  // only those of settings: --section.key=value or --section.key value
};

// Append-only: the number is part of the code shown to people (VX-CFG-004).
enum class SettingsFault : std::uint8_t {
  kUnreadable = 1,
  kSyntax = 2,
  kUnknownKey = 3,
  kWrongType = 4,
  kOutOfRange = 5,
  kRuleBroken = 6,
};

struct SettingsError {
  SettingsFault fault{};
  std::string key;                  // section.key, empty when no single key is meant
  std::string message;              // names key, value, and range or rule with the numbers put in
  std::vector<std::string> places;  // where the value or values came from
  std::string help;                 // what to do, or why the rule exists
};

// The form in which errors are shown on a terminal; ends with a newline.
std::string to_text(const SettingsError& error);

// One line of `config show`.
struct EffectiveSetting {
  std::string key;
  std::string value;
  std::string unit;
  std::string origin;
};

struct LoadedSettings {
  Settings settings;
  std::vector<EffectiveSetting> effective;  // in the order of the table
  std::vector<std::string> notices;         // values that were adapted, for the log
};

std::expected<LoadedSettings, std::vector<SettingsError>> load_settings(const LoadRequest& request);

// What holds when nothing is configured.
Settings default_settings();

// The only function here that touches the outside.
std::expected<SettingsFile, SettingsError> read_settings_file(const std::string& path);

}  // namespace vortex
