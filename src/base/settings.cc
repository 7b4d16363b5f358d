#include "base/settings.h"

#include <map>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/settings_sources.h"
#include "base/settings_table.h"
#include "base/settings_timing.h"
#include "base/settings_value.h"

namespace vortex {
namespace {

LoadedSettings finished(const SettingsDraft& draft, std::vector<std::string> notices) {
  LoadedSettings loaded{.settings = {}, .effective = {}, .notices = std::move(notices)};
  for (std::size_t row = 0; row < settings_table().size(); ++row) {
    const SettingSpec& spec = settings_table()[row];
    const DraftEntry& entry = draft.entries()[row];
    spec.store(loaded.settings, entry.value);
    loaded.effective.push_back({.key = spec.full_key(),
                                .value = value_text(spec, entry.value),
                                .unit = std::string(unit_name(spec.kind)),
                                .origin = entry.origin});
  }
  loaded.settings.controller.task_stale_for_all =
      draft.given("controller.task_stale_timeout_seconds");
  return loaded;
}

// A root that no container will have is a mistake, not a wish.
std::optional<SettingsError> unused_root(const SettingsDraft& draft) {
  constexpr std::string_view kLauncher = "worker.launcher";
  constexpr std::string_view kRoot = "worker.container_root";
  const auto value = [&](std::string_view key) {
    return draft.entries()[*find_setting(key)].value;
  };
  if (draft.refused(kLauncher) || std::get<std::string>(value(kRoot)).empty()) return std::nullopt;
  const auto launcher = static_cast<Launcher>(std::get<SettingChoice>(value(kLauncher)).index);
  if (launcher == Launcher::kContainer) return std::nullopt;
  return SettingsError{
      .fault = SettingsFault::kRuleBroken,
      .key = std::string(kRoot),
      .message = fmt::format("{} is set, but the launcher does not use containers", kRoot),
      .places = {draft.described(kRoot), draft.described(kLauncher)},
      .help = fmt::format("set {} = \"container\", or remove the root", kLauncher)};
}

// Values outside the usual range that nobody has allowed, as they were given: what was adapted
// since is no excuse.
std::vector<SettingsError> extreme_timings(const SettingsDraft& draft, const Collected& collected) {
  std::vector<SettingsError> errors;
  const DraftEntry& allowed = draft.entries()[*find_setting(kAllowExtremeKey)];
  if (draft.tuning() == Tuning::kTesting || draft.tuning_refused()) return errors;
  if (std::get<bool>(allowed.value)) return errors;
  std::map<std::size_t, const GivenValue*> in_force;  // later ones override earlier ones
  for (const GivenValue& given : collected.values) in_force[given.row] = &given;
  for (const auto& [row, given] : in_force) {
    const SettingSpec& spec = settings_table()[row];
    if (spec.usual.max == 0) continue;
    const double value = static_cast<double>(std::get<Duration>(given->value).us) / 1e6;
    if (value >= spec.usual.min && value <= spec.usual.max) continue;
    errors.push_back(
        {.fault = SettingsFault::kOutOfRange,
         .key = spec.full_key(),
         .message = fmt::format("{} = {} is outside its usual range {} to {} {}", spec.full_key(),
                                value_text(spec, given->value), spec.usual.min, spec.usual.max,
                                unit_name(spec.kind)),
         .places = {given->place},
         .help = fmt::format("set {} = true if this is intentional", kAllowExtremeKey)});
  }
  return errors;
}

}  // namespace

std::expected<LoadedSettings, std::vector<SettingsError>> load_settings(
    const LoadRequest& request) {
  Collected collected;
  if (request.file) collect_file(*request.file, collected);
  collect_environment(request.environment, collected);
  collect_flags(request.flags, collected);

  SettingsDraft draft(collected);
  std::vector<std::string> notices = std::move(collected.notices);
  for (std::string& notice : derive_timing(draft)) notices.push_back(std::move(notice));
  std::vector<SettingsError> errors = std::move(collected.errors);
  for (SettingsError& error : broken_rules(draft)) errors.push_back(std::move(error));
  for (SettingsError& error : extreme_timings(draft, collected)) errors.push_back(std::move(error));
  if (auto error = unused_root(draft)) errors.push_back(*std::move(error));
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return finished(draft, std::move(notices));
}

Settings default_settings() {
  auto loaded = load_settings({});
  VX_ASSERT(loaded.has_value());
  return loaded->settings;
}

std::string to_text(const SettingsError& error) {
  std::string text =
      fmt::format("error[VX-CFG-{:03}]: {}\n", static_cast<int>(error.fault), error.message);
  for (const std::string& place : error.places) text += fmt::format("  --> {}\n", place);
  if (!error.help.empty()) text += fmt::format("   = help: {}\n", error.help);
  return text;
}

}  // namespace vortex
