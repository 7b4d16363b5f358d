#pragma once
// The table of settings: each is declared here once, and file keys, environment names, flags,
// validation, defaults, tunings and docs/configuration.md are made from it.
//
// To add one: a member in settings.h and a row in settings_rows_*.cc; the tests say what is
// missing. Keys are an interface to the user's files: they are only ever added.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/settings.h"
#include "base/time.h"

namespace vortex {

enum class SettingKind : std::uint8_t { kSwitch, kCount, kSeconds, kMillis, kText, kChoice };

struct SettingChoice {
  std::size_t index = 0;
  friend bool operator==(SettingChoice, SettingChoice) = default;
};

using SettingValue = std::variant<bool, std::int64_t, Duration, std::string, SettingChoice>;

// Both ends are allowed; in the unit of the key.
struct SettingRange {
  double min = 0;
  double max = 0;
};

// As a person would write them; empty where the tuning has no opinion.
struct TunedValues {
  std::string_view lan;
  std::string_view standard;
  std::string_view wan;
  std::string_view testing;
  std::string_view of(Tuning tuning) const;
};

struct SettingSpec {
  std::string_view section;  // empty for keys at the top of the file
  std::string_view key;
  SettingKind kind{};
  std::string_view fallback;  // the default, as a person would write it
  SettingRange range{};       // kCount, kSeconds, kMillis
  SettingRange usual{};       // narrower, unless controller.allow_extreme_timings; 0 to 0: none
  std::span<const std::string_view> choices{};
  TunedValues tuned{};
  std::string_view doc;                                      // meaning and special values
  std::string (*complain)(std::string_view text) = nullptr;  // kText: what is wrong; empty: nothing
  std::string (*conceal)(std::string_view text) = nullptr;   // kText: what is shown instead of it
  void (*store)(Settings&, const SettingValue&) = nullptr;

  std::string full_key() const;          // controller.heartbeat_timeout_secs
  std::string environment_name() const;  // VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SECS
  std::string flag() const;              // --controller.heartbeat-timeout-secs
};

inline constexpr std::array<std::string_view, 4> kTuningNames{"lan", "standard", "wan", "testing"};
inline constexpr std::size_t kTuningRow = 0;
inline constexpr std::string_view kAllowExtremeKey = "controller.allow_extreme_timings";

// All rows, grouped by section.
const std::vector<SettingSpec>& settings_table();

std::optional<std::size_t> find_setting(std::string_view full_key);

// The rows by section; settings_table() is these in a row.
std::span<const SettingSpec> controller_rows();
std::span<const SettingSpec> worker_rows();
std::span<const SettingSpec> other_rows();

// How a row of the settings table puts its value into the member it belongs to.
//
// Included by the rows only. A value has the type its row's kind says, which the reader of the
// value has made sure of; a mismatch is a mistake in the table and std::get ends the process.

inline void assign(bool& member, const SettingValue& value) { member = std::get<bool>(value); }

inline void assign(std::uint32_t& member, const SettingValue& value) {
  member = static_cast<std::uint32_t>(std::get<std::int64_t>(value));
}

inline void assign(std::uint64_t& member, const SettingValue& value) {
  member = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
}

inline void assign(Duration& member, const SettingValue& value) {
  member = std::get<Duration>(value);
}

inline void assign(std::string& member, const SettingValue& value) {
  member = std::get<std::string>(value);
}

template <class Enum>
  requires std::is_enum_v<Enum>
void assign(Enum& member, const SettingValue& value) {
  member = static_cast<Enum>(std::get<SettingChoice>(value).index);
}

template <auto Group, auto Member>
void store_in(Settings& settings, const SettingValue& value) {
  assign((settings.*Group).*Member, value);
}

}  // namespace vortex
