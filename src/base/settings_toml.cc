// The TOML edge of the settings: the only file that sees toml++ and its exceptions.

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/file_text.h"
#include "base/near_name.h"
#include "base/settings_sources.h"

namespace vortex {
namespace {

constexpr std::size_t kFileBytesMax = 1024UL * 1024;

std::string place_of(const SettingsFile& file, const toml::source_region& source) {
  return fmt::format("{}:{}:{}", file.name, source.begin.line, source.begin.column);
}

struct FileValue {
  ValueResult result;
  std::string shown;
};

FileValue file_value(const SettingSpec& spec, const toml::node& node) {
  if (const auto* integer = node.as_integer()) {
    return {value_from_integer(spec, integer->get()), fmt::format("{}", integer->get())};
  }
  if (const auto* real = node.as_floating_point()) {
    return {value_from_real(spec, real->get()), fmt::format("{}", real->get())};
  }
  if (const auto* truth = node.as_boolean()) {
    const std::string shown = truth->get() ? "true" : "false";
    if (spec.kind == SettingKind::kSwitch) return {truth->get(), shown};
    return {std::unexpected(wrong_type(spec)), shown};
  }
  if (const auto* text = node.as_string()) {
    const std::string shown = fmt::format("\"{}\"", text->get());
    const bool takes_text = spec.kind == SettingKind::kText || spec.kind == SettingKind::kChoice;
    if (takes_text) return {value_from_text(spec, text->get()), shown};
    return {std::unexpected(wrong_type(spec)), shown};
  }
  return {std::unexpected(wrong_type(spec)), node.is_table() ? "(a table)" : "(not a plain value)"};
}

bool is_section(std::string_view name) {
  for (const SettingSpec& spec : settings_table()) {
    if (!spec.section.empty() && spec.section == name) return true;
  }
  return false;
}

// A key that exists, but in another section, is the likeliest mistake.
std::string hint_for_key(std::string_view section, std::string_view key) {
  std::vector<std::string_view> keys;
  for (const SettingSpec& spec : settings_table()) {
    if (spec.key == key) {
      return spec.section.empty() ? fmt::format("'{}' belongs at the top, before any section", key)
                                  : fmt::format("'{}' belongs in [{}]", key, spec.section);
    }
    if (spec.section == section) keys.push_back(spec.key);
  }
  const std::string_view near = nearest_name(key, keys);
  return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
}

std::string hint_for_section(std::string_view name) {
  std::vector<std::string_view> names;
  for (const SettingSpec& spec : settings_table()) {
    names.push_back(spec.section.empty() ? spec.key : spec.section);
  }
  const std::string_view near = nearest_name(name, names);
  return near.empty() ? hint_for_key("", name) : fmt::format("did you mean '{}'?", near);
}

std::string plain_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  return "(not a plain value)";
}

// The key is that of a setting or another word for one.
void collect_value(const SettingsFile& file, const std::string& full, const toml::node& node,
                   Collected& into) {
  const std::string place = place_of(file, node.source());
  auto row = find_setting(full);
  if (!row) {
    const std::string text = plain_text(node);
    const SettingWord& word = *find_setting_word(full, &SettingWord::full_key);
    row = into.translate(word, {SettingSource::kFile, text, place});
  }
  if (!row) return;
  FileValue value = file_value(settings_table()[*row], node);
  into.take(*row, std::move(value.result), {SettingSource::kFile, value.shown, place});
}

void collect_section(const SettingsFile& file, std::string_view section, const toml::table& table,
                     Collected& into) {
  for (const auto& [key, node] : table) {
    const std::string full =
        section.empty() ? std::string(key.str()) : fmt::format("{}.{}", section, key.str());
    const bool known_section = is_section(key.str()) || is_word_section(key.str());
    if (section.empty() && known_section && node.is_table()) {
      collect_section(file, key.str(), *node.as_table(), into);
    } else if (find_setting(full) || find_setting_word(full, &SettingWord::full_key) != nullptr) {
      collect_value(file, full, node, into);
    } else {
      const bool is_named_section = section.empty() && is_section(key.str());
      into.errors.push_back(
          {.fault = is_named_section ? SettingsFault::kWrongType : SettingsFault::kUnknownKey,
           .key = full,
           .message = is_named_section  ? fmt::format("'{}' is a section, not a value", full)
                      : node.is_table() ? fmt::format("unknown section [{}]", full)
                                        : fmt::format("unknown key '{}'", full),
           .places = {place_of(file, key.source())},
           .help = is_named_section  ? fmt::format("write [{}] on its own line", full)
                   : section.empty() ? hint_for_section(key.str())
                                     : hint_for_key(section, key.str())});
    }
  }
}

}  // namespace

void collect_file(const SettingsFile& file, Collected& into) {
  try {
    const toml::table root = toml::parse(file.text, file.name);
    collect_section(file, "", root, into);
  } catch (const toml::parse_error& error) {
    into.errors.push_back({.fault = SettingsFault::kSyntax,
                           .key = {},
                           .message = fmt::format("not valid TOML: {}", error.description()),
                           .places = {place_of(file, error.source())},
                           .help = {}});
  }
}

std::expected<SettingsFile, SettingsError> read_settings_file(const std::string& path) {
  auto text = read_file_text(path, kFileBytesMax);
  if (text) return SettingsFile{.name = path, .text = *std::move(text)};
  return std::unexpected(SettingsError{
      .fault = SettingsFault::kUnreadable,
      .key = {},
      .message = fmt::format("the settings file '{}' {}", path, text.error().why),
      .places = {},
      .help = "check that it exists, is a regular file and is readable, or remove --config"});
}

}  // namespace vortex
