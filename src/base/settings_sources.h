#pragma once
// The three places where a user sets values: file, environment, flags.
//
// Each reader turns its text into rows and typed values and remembers where each came from. A
// reader never stops at the first mistake: it collects them all.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "base/settings_table.h"
#include "base/settings_value.h"
#include "base/settings_words.h"

namespace vortex {

enum class SettingSource : std::uint8_t { kFile, kEnvironment, kFlag };

struct GivenValue {
  std::size_t row = 0;
  SettingValue value;
  std::string place;  // "vortex.toml:3:26", "flag --tuning", ...
  SettingSource source{};
};

struct Collected {
  std::vector<GivenValue> values;  // later ones override earlier ones
  std::vector<SettingsError> errors;
  std::vector<std::size_t> refused;  // rows for which some value was refused
  std::vector<std::string> notices;  // other words that were used

  // One value as the user wrote it, and where.
  struct Written {
    SettingSource source{};
    std::string_view shown;
    std::string place;
  };
  // Takes a value or records why not. One that was given before in the same source, by another
  // word, must be the same.
  void take(std::size_t row, ValueResult result, Written written);
  // Notes that another word was used; the row of the setting it means, if it means one.
  std::optional<std::size_t> translate(const SettingWord& word, const Written& written);
};

void collect_file(const SettingsFile& file, Collected& into);
void collect_environment(const std::vector<std::pair<std::string, std::string>>& environment,
                         Collected& into);
void collect_flags(const std::vector<std::string>& flags, Collected& into);

// "did you mean ...?" among all names that `name_of` gives for the rows of the table, or empty.
std::string did_you_mean(std::string_view wanted, std::string (SettingSpec::*name_of)() const);

}  // namespace vortex
