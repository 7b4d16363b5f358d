#include "base/settings_sources.h"

#include <algorithm>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/file_text.h"
#include "base/settings_value.h"
#include "base/text.h"

namespace vortex {
namespace {

std::optional<std::size_t> find_by(std::string_view name,
                                   std::string (SettingSpec::*name_of)() const) {
  const auto& rows = settings_table();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if ((rows[row].*name_of)() == name) return row;
  }
  return std::nullopt;
}

constexpr std::string_view kPrefix = "VORTEX_";

// Kubernetes puts these into every pod when a service is called, say, vortex-controller.
bool is_service_link(std::string_view name) {
  return name.find("_SERVICE_HOST") != name.npos || name.find("_SERVICE_PORT") != name.npos ||
         name.ends_with("_PORT") || name.find("_PORT_") != name.npos;
}

// Variables of ours that are no settings: those of the command line, and what a task finds in its
// environment (worker/slot/launch.cc, cli/commands/leases.cc), as a task may start a controller or
// a worker of its own.
constexpr std::string_view kOtherNames[] = {"VORTEX_ATTEMPT",
                                            "VORTEX_CA_FILE",
                                            "VORTEX_CERT_FILE",
                                            "VORTEX_CHECKPOINT",
                                            "VORTEX_CONFIG",
                                            "VORTEX_CONTAINER",
                                            "VORTEX_DAG",
                                            "VORTEX_DEADLINE",
                                            "VORTEX_EPOCH",
                                            "VORTEX_KEY_FILE",
                                            "VORTEX_LEASE_AGENT",
                                            "VORTEX_LEASE_EPOCH",
                                            "VORTEX_LEASE_PARTITION",
                                            "VORTEX_LEASE_TOPIC",
                                            "VORTEX_MAP_INDEX",
                                            "VORTEX_MAP_ITEM",
                                            "VORTEX_OUTPUTS",
                                            "VORTEX_PROGRAM",
                                            "VORTEX_PROGRESS",
                                            "VORTEX_RUN_ID",
                                            "VORTEX_SECRETS",
                                            "VORTEX_SECRETS_MASTER_KEY",
                                            "VORTEX_SERVER",
                                            "VORTEX_TASK",
                                            "VORTEX_TASK_ID",
                                            "VORTEX_TMPDIR",
                                            "VORTEX_TOKEN",
                                            "VORTEX_TOKEN_FILE",
                                            "VORTEX_URL",
                                            "VORTEX_WORKER",
                                            "VORTEX_WORKER_PID"};

bool is_other(std::string_view name) {
  return is_fault_variable(name) || std::ranges::find(kOtherNames, name) != std::end(kOtherNames);
}

// The key alone is the likeliest mistake: VORTEX_REQUIRE_TOKENS.
std::string hint_for_variable(std::string_view name) {
  for (const SettingSpec& spec : settings_table()) {
    const std::string whole = spec.environment_name();
    const std::string_view key = std::string_view(whole).substr(whole.size() - spec.key.size());
    if (name.substr(kPrefix.size()) == key) return fmt::format("did you mean '{}'?", whole);
  }
  std::string near = did_you_mean(name, &SettingSpec::environment_name);
  if (!near.empty()) return near;
  const std::string_view other = nearest_name(name, kOtherNames);
  if (!other.empty()) return fmt::format("did you mean '{}'?", other);
  return "unset it: names that start with VORTEX_ are reserved, and no setting is called this";
}

}  // namespace

std::string did_you_mean(std::string_view wanted, std::string (SettingSpec::*name_of)() const) {
  std::vector<std::string> names;
  for (const SettingSpec& spec : settings_table()) names.push_back((spec.*name_of)());
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest_name(wanted, views);
  return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
}

void Collected::take(std::size_t row, ValueResult result, Written written) {
  const SettingSpec& spec = settings_table()[row];
  const std::string key = spec.full_key();
  if (!result) {
    const std::string shown =
        spec.conceal == nullptr ? std::string(written.shown) : spec.conceal(written.shown);
    errors.push_back({.fault = result.error().fault,
                      .key = key,
                      .message = fmt::format("{} = {} {}", key, shown, result.error().message),
                      .places = {std::move(written.place)},
                      .help = result.error().help});
    refused.push_back(row);
    return;
  }
  const auto other = std::ranges::find_if(values, [&](const GivenValue& given) {
    return given.row == row && given.source == written.source && given.value != *result &&
           given.place != written.place;
  });
  if (other != values.end()) {
    errors.push_back(
        {.fault = SettingsFault::kRuleBroken,
         .key = key,
         .message = fmt::format("{} is given twice, as {} and as {}", key,
                                value_text(spec, other->value), value_text(spec, *result)),
         .places = {other->place, std::move(written.place)},
         .help = fmt::format("keep only one of them, as {}", key)});
    return;
  }
  values.push_back({.row = row,
                    .value = *std::move(result),
                    .place = std::move(written.place),
                    .source = written.source});
}

std::optional<std::size_t> Collected::translate(const SettingWord& word, const Written& written) {
  const std::string name = word.full_key();
  if (!word.ours.empty()) {
    notices.push_back(fmt::format("{}: '{}' is called '{}' here", written.place, name, word.ours));
    return find_setting(word.ours);
  }
  if (!word.only.empty() && written.shown != word.only) {
    errors.push_back(
        {.fault = SettingsFault::kOutOfRange,
         .key = name,
         .message = fmt::format("{} = {} is not possible: {}", name, written.shown, word.why),
         .places = {written.place},
         .help = fmt::format("remove {}", name)});
    return std::nullopt;
  }
  notices.push_back(fmt::format("{}: '{}' has no effect here: {}", written.place, name, word.why));
  return std::nullopt;
}

void collect_environment(const std::vector<std::pair<std::string, std::string>>& environment,
                         Collected& into) {
  for (const auto& [name, text] : environment) {
    if (!name.starts_with(kPrefix) || is_other(name)) continue;
    const std::string place = "environment variable " + name;
    const Collected::Written written{SettingSource::kEnvironment, text, place};
    auto row = find_by(name, &SettingSpec::environment_name);
    const SettingWord* word =
        row ? nullptr : find_setting_word(name, &SettingWord::environment_name);
    if (word != nullptr) row = into.translate(*word, written);
    if (row) into.take(*row, value_from_text(settings_table()[*row], text), written);
    if (row || word != nullptr) continue;
    if (is_service_link(name)) continue;
    // Whoever set it believes that it has an effect.
    into.errors.push_back({.fault = SettingsFault::kUnknownKey,
                           .key = name,
                           .message = fmt::format("unknown setting {}", name),
                           .places = {place},
                           .help = hint_for_variable(name)});
  }
}

void collect_flags(const std::vector<std::string>& flags, Collected& into) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string_view argument = flags[i];
    const std::size_t equals = argument.find('=');
    std::string name(argument.substr(0, equals));
    if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '_', '-');
    auto row = find_by(name, &SettingSpec::flag);
    const SettingWord* word = row ? nullptr : find_setting_word(name, &SettingWord::flag);
    if (!row && word == nullptr) {
      into.errors.push_back({.fault = SettingsFault::kUnknownKey,
                             .key = name,
                             .message = fmt::format("unknown flag '{}'", argument),
                             .places = {"command line"},
                             .help = did_you_mean(name, &SettingSpec::flag)});
      continue;
    }
    const bool is_switch = row && settings_table()[*row].kind == SettingKind::kSwitch;
    const bool has_next = i + 1 < flags.size() && !flags[i + 1].starts_with("--");
    std::optional<std::string_view> text;
    if (equals != argument.npos) {
      text = argument.substr(equals + 1);
    } else if (has_next) {
      text = flags[++i];
    } else if (is_switch) {
      text = "true";
    }
    const Collected::Written written{SettingSource::kFlag, text.value_or("(nothing)"),
                                     "flag " + name};
    if (word != nullptr) row = into.translate(*word, written);
    if (!row) continue;
    const SettingSpec& spec = settings_table()[*row];
    into.take(*row, text ? value_from_text(spec, *text) : std::unexpected(wrong_type(spec)),
              written);
  }
}

// The TOML edge of the settings: the only file that sees toml++ and its exceptions.

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

namespace {

DraftEntry preset(const SettingSpec& spec, Tuning tuning, bool tuning_given) {
  const std::string_view tuned = spec.tuned.of(tuning);
  const bool from_tuning = tuning_given && !tuned.empty();
  ValueResult value = value_from_text(spec, tuned.empty() ? spec.fallback : tuned);
  VX_ASSERT(value.has_value());
  return {.value = *std::move(value),
          .state = DraftState::kPreset,
          .origin = from_tuning
                        ? fmt::format("tuning {}", kTuningNames[static_cast<std::size_t>(tuning)])
                        : "default"};
}

std::size_t row_of(std::string_view key) {
  const auto row = find_setting(key);
  VX_ASSERT(row.has_value());
  return *row;
}

Duration fitted(const SettingSpec& spec, Duration value) {
  const std::int64_t unit = spec.kind == SettingKind::kMillis ? 1'000 : 1'000'000;
  const auto low = static_cast<std::int64_t>(spec.range.min * static_cast<double>(unit));
  const auto high = static_cast<std::int64_t>(spec.range.max * static_cast<double>(unit));
  return micros(std::clamp(value.us / 1'000 * 1'000, low, high));
}

}  // namespace

SettingsDraft::SettingsDraft(const Collected& collected) {
  bool tuning_given = false;
  for (const GivenValue& given : collected.values) {
    if (given.row != kTuningRow) continue;
    tuning_ = static_cast<Tuning>(std::get<SettingChoice>(given.value).index);
    tuning_given = true;
  }
  for (const SettingSpec& spec : settings_table()) {
    entries_.push_back(preset(spec, tuning_, tuning_given));
  }
  for (const GivenValue& given : collected.values) {
    entries_[given.row] = {
        .value = given.value, .state = DraftState::kGiven, .origin = given.place};
  }
  for (const std::size_t row : collected.refused) entries_[row].state = DraftState::kRefused;
}

DraftEntry& SettingsDraft::entry(std::string_view key) { return entries_[row_of(key)]; }
const DraftEntry& SettingsDraft::entry(std::string_view key) const { return entries_[row_of(key)]; }

Duration SettingsDraft::duration(std::string_view key) const {
  return std::get<Duration>(entry(key).value);
}

Duration SettingsDraft::tuned(std::string_view key) const {
  const SettingSpec& spec = settings_table()[row_of(key)];
  return std::get<Duration>(preset(spec, tuning_, tuning_given()).value);
}

bool SettingsDraft::given(std::string_view key) const {
  return entry(key).state == DraftState::kGiven;
}

bool SettingsDraft::refused(std::string_view key) const {
  return entry(key).state == DraftState::kRefused;
}

std::string SettingsDraft::described(std::string_view key) const {
  const DraftEntry& found = entry(key);
  return fmt::format("{} = {} ({})", key, value_text(settings_table()[row_of(key)], found.value),
                     found.origin);
}

void SettingsDraft::derive(std::string_view key, Duration value, std::string_view source) {
  if (!given(key) && !refused(key)) overrule(key, value, source);
}

void SettingsDraft::overrule(std::string_view key, Duration value, std::string_view source) {
  DraftEntry& target = entry(key);
  const Duration fit = fitted(settings_table()[row_of(key)], value);
  if (std::get<Duration>(target.value) == fit) return;
  target = {.value = fit,
            .state = DraftState::kDerived,
            .origin = fmt::format("derived from {}", source)};
}

}  // namespace vortex
