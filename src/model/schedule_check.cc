#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/check.h"
#include "model/plan.h"
#include "model/schedule.h"

namespace vortex {
namespace {

DagError bad_schedule(std::string_view member, std::string detail, std::string help) {
  return {DagError::Kind::kBadValue,         "", std::move(detail),
          {"schedule", std::string(member)}, 0,  std::move(help)};
}

// "Berlin" and "europe/berlni" mean Europe/Berlin.
std::string near_zone(std::string_view wanted, const std::vector<std::string>& names) {
  std::vector<std::string_view> known(names.begin(), names.end());
  if (const auto near = nearest_name(wanted, known); !near.empty()) return std::string(near);
  std::vector<std::string_view> cities;
  for (const std::string_view name : known) cities.push_back(name.substr(name.rfind('/') + 1));
  const auto city = nearest_name(wanted.substr(wanted.rfind('/') + 1), cities);
  if (city.empty()) return {};
  return names[static_cast<std::size_t>(std::ranges::find(cities, city) - cities.begin())];
}

DagError unknown_zone(std::string_view name, const ZoneSource& zones) {
  const auto names = zones.names();
  const std::string near = near_zone(name, names);
  std::string help = near.empty() ? "write an IANA name such as Europe/Berlin or UTC"
                                  : fmt::format("did you mean {}?", in_quotes(near));
  if (names.empty()) help = "this system has no time zones: install the package tzdata";
  return bad_schedule("timezone", fmt::format("time zone {} is not known", in_quotes(name)),
                      std::move(help));
}

}  // namespace

std::optional<DagError> find_bad_schedule(const DagSpec& spec, const ZoneSource* zones) {
  if (!spec.schedule) return std::nullopt;
  const ScheduleSpec& schedule = *spec.schedule;
  for (const ParamSpec& param : spec.params) {
    if (param.fallback) continue;
    return DagError{DagError::Kind::kBadValue,
                    "",
                    fmt::format("param {} has no default, and runs of the schedule are given none",
                                in_quotes(param.name)),
                    {"params", param.name},
                    0,
                    "give it a default"};
  }
  if (zones == nullptr) return std::nullopt;
  const ZonePtr zone = zones->find(schedule.timezone);
  if (!zone) return unknown_zone(schedule.timezone, *zones);
  if (schedule.from && schedule.until &&
      instant_of(*schedule.until, *zone) < instant_of(*schedule.from, *zone)) {
    return bad_schedule("until",
                        fmt::format("'until' ({}) comes before 'from' ({})", schedule.until->text,
                                    schedule.from->text),
                        "swap them, or leave one out");
  }
  if (schedule.from && schedule.until && !next_slot(schedule, *zone, Instant{})) {
    return bad_schedule("until",
                        fmt::format("there is no time between 'from' ({}) and 'until' ({}): {}",
                                    schedule.from->text, schedule.until->text, in_words(schedule)),
                        "move them apart");
  }
  return std::nullopt;
}

}  // namespace vortex
