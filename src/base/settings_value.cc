#include "base/settings_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/settings_table.h"
#include "base/text.h"

namespace vortex {
namespace {

constexpr double kMicrosPerSecond = 1e6;
constexpr double kMicrosPerMilli = 1e3;

template <class Number>
bool parse_whole(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return !text.empty() && error == std::errc{} && stop == end;
}

bool in_range(const SettingSpec& spec, double number) {
  return number >= spec.range.min && number <= spec.range.max;  // false for not-a-number too
}

ValueRefusal out_of_range(const SettingSpec& spec) {
  const std::string_view unit = unit_name(spec.kind);
  return {.fault = SettingsFault::kOutOfRange,
          .message = fmt::format("is outside its range {} to {}{}{}", spec.range.min,
                                 spec.range.max, unit.empty() ? "" : " ", unit),
          .help = {}};
}

Duration duration_of(const SettingSpec& spec, double number) {
  const double scale = spec.kind == SettingKind::kMillis ? kMicrosPerMilli : kMicrosPerSecond;
  return micros(std::llround(number * scale));
}

ValueResult choice_of(const SettingSpec& spec, std::string_view text) {
  const auto found = std::ranges::find(spec.choices, text);
  if (found != spec.choices.end()) {
    return SettingChoice{static_cast<std::size_t>(found - spec.choices.begin())};
  }
  const std::string_view near = nearest_name(text, spec.choices);
  return std::unexpected(
      ValueRefusal{.fault = SettingsFault::kOutOfRange,
                   .message = fmt::format("is not one of {}", fmt::join(spec.choices, ", ")),
                   .help = near.empty() ? "" : fmt::format("did you mean '{}'?", near)});
}

ValueResult number_from_text(const SettingSpec& spec, std::string_view text) {
  if (std::int64_t integer = 0; parse_whole(text, integer))
    return value_from_integer(spec, integer);
  if (double real = 0; parse_whole(text, real)) return value_from_real(spec, real);
  return std::unexpected(wrong_type(spec));
}

}  // namespace

ValueResult value_from_text(const SettingSpec& spec, std::string_view text) {
  switch (spec.kind) {
    case SettingKind::kSwitch:
      if (text == "true" || text == "false") return text == "true";
      return std::unexpected(wrong_type(spec));
    case SettingKind::kChoice:
      return choice_of(spec, text);
    case SettingKind::kText:
      // Nothing is a value only where it is the default.
      if (text.empty() && !spec.fallback.empty()) return std::unexpected(wrong_type(spec));
      if (spec.complain != nullptr) {
        std::string wrong = spec.complain(text);
        if (!wrong.empty()) {
          return std::unexpected(ValueRefusal{
              .fault = SettingsFault::kOutOfRange, .message = std::move(wrong), .help = {}});
        }
      }
      return std::string(text);
    case SettingKind::kCount:
    case SettingKind::kSeconds:
    case SettingKind::kMillis:
      break;
  }
  return number_from_text(spec, text);
}

ValueResult value_from_integer(const SettingSpec& spec, std::int64_t number) {
  if (spec.kind != SettingKind::kCount) return value_from_real(spec, static_cast<double>(number));
  if (!in_range(spec, static_cast<double>(number))) return std::unexpected(out_of_range(spec));
  return number;
}

ValueResult value_from_real(const SettingSpec& spec, double number) {
  if (spec.kind != SettingKind::kSeconds && spec.kind != SettingKind::kMillis) {
    return std::unexpected(wrong_type(spec));
  }
  if (!in_range(spec, number)) return std::unexpected(out_of_range(spec));
  return duration_of(spec, number);
}

ValueRefusal wrong_type(const SettingSpec& spec) {
  std::string help;
  if (!unit_name(spec.kind).empty()) {
    help = fmt::format("write a bare number of {}, without quotes or unit", unit_name(spec.kind));
  } else if (spec.kind == SettingKind::kSwitch) {
    help = "write true or false, in lower case and without quotes";
  }
  return {.fault = SettingsFault::kWrongType,
          .message = fmt::format("is not {}", expectation(spec)),
          .help = std::move(help)};
}

std::string value_text(const SettingSpec& spec, const SettingValue& value) {
  switch (spec.kind) {
    case SettingKind::kSwitch:
      return std::get<bool>(value) ? "true" : "false";
    case SettingKind::kCount:
      return fmt::format("{}", std::get<std::int64_t>(value));
    case SettingKind::kSeconds:
      return fmt::format("{}",
                         static_cast<double>(std::get<Duration>(value).us) / kMicrosPerSecond);
    case SettingKind::kMillis:
      return fmt::format("{}", static_cast<double>(std::get<Duration>(value).us) / kMicrosPerMilli);
    case SettingKind::kText:
      return spec.conceal == nullptr ? std::get<std::string>(value)
                                     : spec.conceal(std::get<std::string>(value));
    case SettingKind::kChoice:
      return std::string(spec.choices[std::get<SettingChoice>(value).index]);
  }
  return {};
}

std::string_view unit_name(SettingKind kind) {
  if (kind == SettingKind::kSeconds) return "seconds";
  if (kind == SettingKind::kMillis) return "milliseconds";
  return {};
}

std::string expectation(const SettingSpec& spec) {
  switch (spec.kind) {
    case SettingKind::kSwitch:
      return "true or false";
    case SettingKind::kText:
      return "a string";
    case SettingKind::kChoice:
      return fmt::format("one of {}", fmt::join(spec.choices, ", "));
    case SettingKind::kCount:
      return fmt::format("a whole number from {} to {}", spec.range.min, spec.range.max);
    case SettingKind::kSeconds:
    case SettingKind::kMillis:
      break;
  }
  return fmt::format("a number of {} from {} to {}", unit_name(spec.kind), spec.range.min,
                     spec.range.max);
}

std::string seconds_text(Duration duration) {
  return fmt::format("{} s", static_cast<double>(duration.us) / kMicrosPerSecond);
}

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
