#pragma once
// How a row of the settings table puts its value into the member it belongs to.
//
// Included by the rows only. A value has the type its row's kind says, which the reader of the
// value has made sure of; a mismatch is a mistake in the table and std::get ends the process.

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "base/settings.h"
#include "base/settings_table.h"

namespace vortex {

inline void assign(bool& member, const SettingValue& value) { member = std::get<bool>(value); }

inline void assign(std::uint32_t& member, const SettingValue& value) {
  member = static_cast<std::uint32_t>(std::get<std::int64_t>(value));
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
