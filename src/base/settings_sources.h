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
#include "base/time.h"

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

// Settings in the making: one entry per row of the table, each with its value and where it came
// from.
//
// First the tuning fills all entries, then what the user gave overrides it, then values that nobody
// gave are derived. The draft keeps apart what was given and what may still be adapted.

enum class DraftState : std::uint8_t {
  kPreset,   // from the tuning or the default
  kDerived,  // follows another value
  kGiven,    // by the user
  kRefused,  // by the user, but not a valid value: nothing should be concluded from it
};

struct DraftEntry {
  SettingValue value;
  DraftState state = DraftState::kPreset;
  std::string origin;
};

class SettingsDraft {
 public:
  explicit SettingsDraft(const Collected& collected);

  Tuning tuning() const { return tuning_; }
  bool tuning_given() const { return entries_[kTuningRow].state == DraftState::kGiven; }
  bool tuning_refused() const { return entries_[kTuningRow].state == DraftState::kRefused; }
  const std::vector<DraftEntry>& entries() const { return entries_; }

  // Keys are full keys of rows that hold a length of time; an unknown one is a mistake in our code.
  Duration duration(std::string_view key) const;
  Duration tuned(std::string_view key) const;  // what the tuning says, whatever was given since
  bool given(std::string_view key) const;
  bool refused(std::string_view key) const;
  std::string described(std::string_view key) const;  // "worker.self_fence_secs = 40 (default)"

  // Sets a value that follows `source`, unless the user gave one. Rounded down to the millisecond
  // and kept within the range of its row.
  void derive(std::string_view key, Duration value, std::string_view source);
  // The same even if the user gave one: for the one case where two promises cannot both be kept.
  void overrule(std::string_view key, Duration value, std::string_view source);

 private:
  DraftEntry& entry(std::string_view key);
  const DraftEntry& entry(std::string_view key) const;

  Tuning tuning_ = Tuning::kStandard;
  std::vector<DraftEntry> entries_;
};

}  // namespace vortex
