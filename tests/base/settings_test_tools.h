#pragma once
// Helpers of the settings tests: loading from a few literals, and reading errors back.
// Loading that must succeed reports the errors it got instead, so a failing test explains itself.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/settings.h"

namespace vortex {

using Environment = std::vector<std::pair<std::string, std::string>>;

inline LoadRequest from_file(std::string text) {
  return {.file = SettingsFile{.name = "vortex.toml", .text = std::move(text)},
          .environment = {},
          .flags = {}};
}

inline LoadRequest from_environment(Environment environment) {
  return {.file = {}, .environment = std::move(environment), .flags = {}};
}

inline LoadRequest from_flags(std::vector<std::string> flags) {
  return {.file = {}, .environment = {}, .flags = std::move(flags)};
}

// All errors as one text; empty when the request loads.
inline std::string errors_of(const LoadRequest& request) {
  const auto loaded = load_settings(request);
  std::string text;
  if (!loaded) {
    for (const SettingsError& error : loaded.error()) text += to_text(error);
  }
  return text;
}

inline LoadedSettings loaded(const LoadRequest& request) {
  EXPECT_EQ(errors_of(request), "");
  return load_settings(request).value_or(LoadedSettings{});
}

inline Settings settings_of(const LoadRequest& request) { return loaded(request).settings; }

inline std::string origin_of(const LoadedSettings& from, const std::string& key) {
  for (const EffectiveSetting& setting : from.effective) {
    if (setting.key == key) return setting.origin;
  }
  return "(no such key)";
}

}  // namespace vortex
