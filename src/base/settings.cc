#include "base/settings.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "base/settings_draft.h"
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
    const Slot& slot = draft.slots()[row];
    spec.store(loaded.settings, slot.value);
    loaded.effective.push_back({.key = spec.full_key(),
                                .value = value_text(spec, slot.value),
                                .unit = std::string(unit_name(spec.kind)),
                                .origin = slot.origin});
  }
  loaded.settings.controller.task_stale_for_all =
      draft.given("controller.task_stale_timeout_seconds");
  return loaded;
}

// A root that no container will have is a mistake, not a wish.
std::optional<SettingsError> unused_root(const SettingsDraft& draft) {
  constexpr std::string_view kLauncher = "worker.launcher";
  constexpr std::string_view kRoot = "worker.container_root";
  const auto value = [&](std::string_view key) { return draft.slots()[*find_setting(key)].value; };
  if (draft.refused(kLauncher) || std::get<std::string>(value(kRoot)).empty()) return std::nullopt;
  const auto launcher = static_cast<Launcher>(std::get<SettingChoice>(value(kLauncher)).index);
  if (launcher == Launcher::kContainer) return std::nullopt;
  return SettingsError{
      .fault = SettingsFault::kRuleBroken,
      .key = std::string(kRoot),
      .message = fmt::format("{} is set, but the launcher starts no containers", kRoot),
      .places = {draft.described(kRoot), draft.described(kLauncher)},
      .help = fmt::format("set {} = \"container\", or leave out the root", kLauncher)};
}

}  // namespace

std::expected<LoadedSettings, std::vector<SettingsError>> load_settings(
    const LoadRequest& request) {
  Collected collected;
  if (request.file) collect_file(*request.file, collected);
  collect_environment(request.environment, collected);
  collect_flags(request.flags, collected);

  SettingsDraft draft(collected);
  std::vector<std::string> notices = derive_timing(draft);
  std::vector<SettingsError> errors = std::move(collected.errors);
  for (SettingsError& error : broken_rules(draft)) errors.push_back(std::move(error));
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
