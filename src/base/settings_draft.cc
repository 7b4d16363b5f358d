#include "base/settings_draft.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/settings_value.h"

namespace vortex {
namespace {

Slot preset(const SettingSpec& spec, Tuning tuning, bool tuning_given) {
  const std::string_view tuned = spec.tuned.of(tuning);
  const bool from_tuning = tuning_given && !tuned.empty();
  ValueResult value = value_from_text(spec, tuned.empty() ? spec.fallback : tuned);
  VX_ASSERT(value.has_value());
  return {.value = *std::move(value),
          .state = SlotState::kPreset,
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
    slots_.push_back(preset(spec, tuning_, tuning_given));
  }
  for (const GivenValue& given : collected.values) {
    slots_[given.row] = {.value = given.value, .state = SlotState::kGiven, .origin = given.place};
  }
  for (const std::size_t row : collected.refused) slots_[row].state = SlotState::kRefused;
}

Slot& SettingsDraft::slot(std::string_view key) { return slots_[row_of(key)]; }
const Slot& SettingsDraft::slot(std::string_view key) const { return slots_[row_of(key)]; }

Duration SettingsDraft::duration(std::string_view key) const {
  return std::get<Duration>(slot(key).value);
}

Duration SettingsDraft::tuned(std::string_view key) const {
  const SettingSpec& spec = settings_table()[row_of(key)];
  return std::get<Duration>(preset(spec, tuning_, tuning_given()).value);
}

bool SettingsDraft::given(std::string_view key) const {
  return slot(key).state == SlotState::kGiven;
}

bool SettingsDraft::refused(std::string_view key) const {
  return slot(key).state == SlotState::kRefused;
}

std::string SettingsDraft::described(std::string_view key) const {
  const Slot& found = slot(key);
  return fmt::format("{} = {} ({})", key, value_text(settings_table()[row_of(key)], found.value),
                     found.origin);
}

void SettingsDraft::derive(std::string_view key, Duration value, std::string_view source) {
  if (!given(key) && !refused(key)) overrule(key, value, source);
}

void SettingsDraft::overrule(std::string_view key, Duration value, std::string_view source) {
  Slot& target = slot(key);
  const Duration fit = fitted(settings_table()[row_of(key)], value);
  if (std::get<Duration>(target.value) == fit) return;
  target = {
      .value = fit, .state = SlotState::kDerived, .origin = fmt::format("derived from {}", source)};
}

}  // namespace vortex
