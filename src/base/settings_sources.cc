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

void Collected::take(std::size_t row, ValueResult result, std::string_view shown,
                     std::string place) {
  if (result) {
    values.push_back({.row = row, .value = *std::move(result), .place = std::move(place)});
    return;
  }
  const std::string key = settings_table()[row].full_key();
  errors.push_back({.fault = result.error().fault,
                    .key = key,
                    .message = fmt::format("{} = {} {}", key, shown, result.error().message),
                    .places = {std::move(place)},
                    .help = result.error().help});
  refused.push_back(row);
}

void collect_environment(const std::vector<std::pair<std::string, std::string>>& environment,
                         Collected& into) {
  for (const auto& [name, text] : environment) {
    if (!name.starts_with("VORTEX_") || is_for_tasks(name)) continue;
    const std::string place = "environment variable " + name;
    if (const auto row = find_by(name, &SettingSpec::environment_name)) {
      into.take(*row, value_from_text(settings_table()[*row], text), text, place);
      continue;
    }
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
    const std::string_view word = flags[i];
    const std::size_t equals = word.find('=');
    std::string name(word.substr(0, equals));
    if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '_', '-');
    const std::string place = "flag " + name;
    const auto row = find_by(name, &SettingSpec::flag);
    if (!row) {
      into.errors.push_back({.fault = SettingsFault::kUnknownKey,
                             .key = name,
                             .message = fmt::format("unknown flag '{}'", word),
                             .places = {"command line"},
                             .help = did_you_mean(name, &SettingSpec::flag)});
      continue;
    }
    const SettingSpec& spec = settings_table()[*row];
    if (equals != word.npos) {
      const std::string_view text = word.substr(equals + 1);
      into.take(*row, value_from_text(spec, text), text, place);
    } else if (i + 1 < flags.size() && !flags[i + 1].starts_with("--")) {
      ++i;
      into.take(*row, value_from_text(spec, flags[i]), flags[i], place);
    } else if (spec.kind == SettingKind::kSwitch) {
      into.take(*row, true, "true", place);
    } else {
      into.take(*row, std::unexpected(wrong_type(spec)), "(nothing)", place);
    }
  }
}

}  // namespace vortex
