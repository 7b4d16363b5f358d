#pragma once
// One value of one setting: from text or number to the typed value, within the range of its row,
// and back to the text a person would write. Pure functions; nothing here knows where a value is
// from.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "base/settings.h"
#include "base/settings_table.h"

namespace vortex {

// Why a value was refused. `message` follows "key = value", as in "is outside its range 1 to 60".
struct ValueRefusal {
  SettingsFault fault{};
  std::string message;
  std::string help;
};

using ValueResult = std::expected<SettingValue, ValueRefusal>;

ValueResult value_from_text(const SettingSpec& spec, std::string_view text);
ValueResult value_from_integer(const SettingSpec& spec, std::int64_t number);
ValueResult value_from_real(const SettingSpec& spec, double number);

// For sources that have types of their own: the value has a type that this row does not take.
ValueRefusal wrong_type(const SettingSpec& spec);

std::string value_text(const SettingSpec& spec, const SettingValue& value);

// "seconds", "milliseconds" or empty.
std::string_view unit_name(SettingKind kind);

// "a number from 1 to 60", "one of a, b, c", ...: completes "expected ...".
std::string expectation(const SettingSpec& spec);

// A length of time for people: "0.5 s", "250 ms" is "0.25 s".
std::string seconds_text(Duration duration);

// Other words for settings, taken from the documents that people come with: each is accepted in the
// file, the environment and as a flag, and a note names our word for it.
//
// Declared once, in the table of settings_value.cc. A word means exactly one setting, or none: then
// it is accepted with a note that says why it has no effect here.

struct SettingWord {
  std::string_view section;  // empty: at the top of the file
  std::string_view key;
  std::string_view ours;  // full key of the setting; empty: none
  std::string_view why;   // completes "<word> has no effect: ..." when there is none
  std::string_view only;  // the one value that is accepted then; empty: any

  std::string full_key() const;
  std::string environment_name() const;
  std::string flag() const;
};

std::span<const SettingWord> setting_words();
const SettingWord* find_setting_word(std::string_view name,
                                     std::string (SettingWord::*name_of)() const);
bool is_word_section(std::string_view section);

}  // namespace vortex
