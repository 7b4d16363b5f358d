#pragma once
// Timing: which values follow which, and the rules that every configuration must keep.
//
// The rules are what makes recovery safe: a worker that is cut off has killed its tasks before the
// controller may give them to another. A configuration that breaks one is refused with the numbers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/settings_sources.h"

namespace vortex {

// num/den of the value of one key.
struct RuleTerm {
  std::string_view key;
  std::int64_t num = 1;
  std::int64_t den = 1;
};

enum class RuleRelation : std::uint8_t { kAtMost, kBelow };

struct TimingRule {
  std::span<const RuleTerm> left;  // added up
  RuleRelation relation{};
  RuleTerm right;
  std::string_view why;  // completes "else ..."
};

std::span<const TimingRule> timing_rules();

// "self_fence_secs + ... <= 0.95 x heartbeat_timeout_secs", with full keys.
std::string rule_text(const TimingRule& rule);

// Fills in what follows from the values given. If for the lease in force there are values that keep
// the rules, it finds some. Returns notices about given values that had to be adapted.
std::vector<std::string> derive_timing(SettingsDraft& draft);

// One error for each rule that is broken; rules about refused values are not judged.
std::vector<SettingsError> broken_rules(const SettingsDraft& draft);

}  // namespace vortex
