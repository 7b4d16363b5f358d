#include "base/settings_sources.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/near_name.h"

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

// Whether this looks like VORTEX_<SECTION>_..., a variable that can only be meant for us.
bool names_a_section(std::string_view name) {
  return std::ranges::any_of(settings_table(), [name](const SettingSpec& spec) {
    if (spec.section.empty()) return false;
    const std::string whole = spec.environment_name();
    return name.starts_with(std::string_view(whole).substr(0, whole.size() - spec.key.size()));
  });
}

// Kubernetes puts these into every pod when a service is called, say, vortex-controller.
bool is_service_link(std::string_view name) {
  return name.find("_SERVICE_HOST") != name.npos || name.find("_SERVICE_PORT") != name.npos ||
         name.ends_with("_PORT") || name.find("_PORT_") != name.npos;
}

// What a task finds in its environment (worker/launch.cc) and would be taken for a setting: a task
// may start a controller or a worker of its own.
bool is_for_tasks(std::string_view name) { return name == "VORTEX_WORKER_PID"; }

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
    errors.push_back(
        {.fault = result.error().fault,
         .key = key,
         .message = fmt::format("{} = {} {}", key, written.shown, result.error().message),
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
    if (!name.starts_with("VORTEX_") || is_for_tasks(name)) continue;
    const std::string place = "environment variable " + name;
    const Collected::Written written{SettingSource::kEnvironment, text, place};
    auto row = find_by(name, &SettingSpec::environment_name);
    const SettingWord* word =
        row ? nullptr : find_setting_word(name, &SettingWord::environment_name);
    if (word != nullptr) row = into.translate(*word, written);
    if (row) into.take(*row, value_from_text(settings_table()[*row], text), written);
    if (row || word != nullptr) continue;
    // Tasks and clients have VORTEX_ variables of their own; only a near miss is ours to refuse.
    std::string help = did_you_mean(name, &SettingSpec::environment_name);
    if (is_service_link(name) || (help.empty() && !names_a_section(name))) continue;
    into.errors.push_back({.fault = SettingsFault::kUnknownKey,
                           .key = name,
                           .message = fmt::format("unknown setting {}", name),
                           .places = {place},
                           .help = std::move(help)});
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

}  // namespace vortex
