#include "sim/check/brake_watch.h"

#include <ranges>
#include <string>
#include <string_view>
#include <variant>

namespace vortex::sim {

namespace {

bool says_trickle(const Event& event) {
  for (const auto& [key, value] : event.data) {
    const auto* text = std::get_if<std::string>(&value);
    if (std::string_view(key) == "phase" && text != nullptr) return *text == "trickle";
  }
  return false;
}

}  // namespace

void BrakeWatch::fact(const Fact& fact) {
  if (const auto* began = std::get_if<TermBegan>(&fact); began && began->term > term_) {
    term_ = began->term;
    changes_.clear();
  }
  const auto* commit = std::get_if<Committed>(&fact);
  if (commit == nullptr) return;
  for (const Event& event : commit->events) {
    if (event.kind == EventKind::kBrakeEngaged) {
      const auto phase = says_trickle(event) ? BrakePhase::kTrickle : BrakePhase::kHolding;
      changes_.push_back({event.at, phase});
    } else if (event.kind == EventKind::kBrakeReleased) {
      changes_.push_back({event.at, BrakePhase::kOff});
    }
  }
}

std::optional<BrakePhase> BrakeWatch::phase_at(Instant at) const {
  for (const Change& change : changes_ | std::views::reverse) {
    if (change.at == at) return std::nullopt;
    if (change.at < at) return change.to;
  }
  return BrakePhase::kOff;
}

bool BrakeWatch::was_on_within(Instant from, Instant to) const {
  for (const Change& change : changes_ | std::views::reverse) {
    if (change.at <= to && change.to != BrakePhase::kOff) return true;
    if (change.at < from) return false;
  }
  return false;
}

}  // namespace vortex::sim
