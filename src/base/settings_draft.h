#pragma once
// Settings in the making: one slot per row of the table, each with its value and where it came
// from.
//
// First the tuning fills all slots, then what the user gave overrides it, then values that nobody
// gave are derived. The draft keeps apart what was given and what may still be adapted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/settings_sources.h"
#include "base/settings_table.h"
#include "base/time.h"

namespace vortex {

enum class SlotState : std::uint8_t {
  kPreset,   // from the tuning or the default
  kDerived,  // follows another value
  kGiven,    // by the user
  kRefused,  // by the user, but not a valid value: nothing should be concluded from it
};

struct Slot {
  SettingValue value;
  SlotState state = SlotState::kPreset;
  std::string origin;
};

class SettingsDraft {
 public:
  explicit SettingsDraft(const Collected& collected);

  Tuning tuning() const { return tuning_; }
  bool tuning_given() const { return slots_[kTuningRow].state == SlotState::kGiven; }
  bool tuning_refused() const { return slots_[kTuningRow].state == SlotState::kRefused; }
  const std::vector<Slot>& slots() const { return slots_; }

  // Keys are full keys of rows that hold a length of time; an unknown one is a mistake in our code.
  Duration duration(std::string_view key) const;
  Duration tuned(std::string_view key) const;  // what the tuning says, whatever was given since
  bool given(std::string_view key) const;
  bool refused(std::string_view key) const;
  std::string described(std::string_view key) const;  // "worker.self_fence_secs = 40 (default)"

  // Sets a value that follows `source`, unless the user gave one. Rounded down to the millisecond
  // and kept within the range of its row.
  void derive(std::string_view key, Duration value, std::string_view source);
  // The same even if the user gave one: for the one case where two promises cannot both be kept.
  void overrule(std::string_view key, Duration value, std::string_view source);

 private:
  Slot& slot(std::string_view key);
  const Slot& slot(std::string_view key) const;

  Tuning tuning_ = Tuning::kStandard;
  std::vector<Slot> slots_;
};

}  // namespace vortex
