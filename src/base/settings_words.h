#pragma once
// Other words for settings, taken from the documents that people come with: each is accepted in the
// file, the environment and as a flag, and a note names our word for it.
//
// Declared once, in the table of settings_words.cc. A word means exactly one setting, or none: then
// it is accepted with a note that says why it has no effect here.

#include <span>
#include <string>
#include <string_view>

namespace vortex {

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
