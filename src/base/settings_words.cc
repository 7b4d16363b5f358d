#include "base/settings_words.h"

#include <algorithm>

#include "base/settings_table.h"

namespace vortex {
namespace {

constexpr std::string_view kAlwaysOn = "recovery is always on";
constexpr std::string_view kOwnAddress = "a worker detects its own address";

constexpr SettingWord kWords[] = {
    // Constants without a section, as VORTEX_HEARTBEAT_TIMEOUT_SECS in the environment.
    {"", "heartbeat_interval_secs", "worker.heartbeat_interval_secs", {}, {}},
    {"", "heartbeat_timeout_secs", "controller.heartbeat_timeout_secs", {}, {}},
    {"", "health_check_interval_secs", "controller.health_check_interval_secs", {}, {}},
    {"", "task_timeout_secs", "controller.task_timeout_secs", {}, {}},
    {"", "max_task_retries", "controller.max_task_retries", {}, {}},
    {"executor", "scheduled_timeout", "controller.scheduled_timeout_secs", {}, {}},
    {"executor", "timeout_check_interval", "controller.timeout_check_interval_secs", {}, {}},
    {"worker", "heartbeat_interval", "worker.heartbeat_interval_secs", {}, {}},
    {"worker", "shutdown_timeout", "worker.shutdown_timeout_secs", {}, {}},
    {"agent", "agent_id", "worker.name", {}, {}},
    {"agent", "availability_zone", "worker.zone", {}, {}},
    {"agent", "agent_group", "worker.group", {}, {}},
    {"agent", "address", {}, kOwnAddress, {}},
    {"heartbeat", "interval_seconds", "worker.heartbeat_interval_secs", {}, {}},
    {"heartbeat", "timeout_seconds", "controller.heartbeat_timeout_secs", {}, {}},
    {"health_check", "port", "worker.health_port", {}, {}},
    {"health_check", "path", {}, "the path is always /health", "/health"},
    {"graceful_shutdown", "timeout_seconds", "worker.shutdown_timeout_secs", {}, {}},
    {"workers", "spawn_retry_attempts", "worker.spawn_retry_attempts", {}, {}},
    {"workers", "spawn_backoff_strategy", "worker.spawn_backoff_strategy", {}, {}},
    {"workers", "spawn_backoff_base_seconds", "worker.spawn_backoff_base_seconds", {}, {}},
    {"workers", "spawn_backoff_max_seconds", "worker.spawn_backoff_max_seconds", {}, {}},
    {"workers", "task_stale_timeout_seconds", "controller.task_stale_timeout_seconds", {}, {}},
    {"workers", "heartbeat_interval_seconds", "worker.heartbeat_interval_secs", {}, {}},
    {"workers", "heartbeat_stale_threshold", "controller.heartbeat_timeout_secs", {}, {}},
    {"workers", "auto_respawn", "worker.auto_respawn", {}, {}},
    {"workers", "max_respawn_attempts", "worker.max_respawn_attempts", {}, {}},
    {"resilience", "enabled", {}, kAlwaysOn, "true"},
};

// A row with no more than its name: names are made as those of settings are.
SettingSpec named(const SettingWord& word) {
  SettingSpec spec;
  spec.section = word.section;
  spec.key = word.key;
  return spec;
}

}  // namespace

std::string SettingWord::full_key() const { return named(*this).full_key(); }
std::string SettingWord::environment_name() const { return named(*this).environment_name(); }
std::string SettingWord::flag() const { return named(*this).flag(); }

std::span<const SettingWord> setting_words() { return kWords; }

const SettingWord* find_setting_word(std::string_view name,
                                     std::string (SettingWord::*name_of)() const) {
  const auto found = std::ranges::find_if(
      kWords, [&](const SettingWord& word) { return (word.*name_of)() == name; });
  return found == std::end(kWords) ? nullptr : &*found;
}

bool is_word_section(std::string_view section) {
  return !section.empty() &&
         std::ranges::find(kWords, section, &SettingWord::section) != std::end(kWords);
}

}  // namespace vortex
