// The thorough check: begun once in every reconcile interval or when asked for, done in slices.

#include <utility>

#include "engine/engine.h"

namespace vortex::engine {
namespace {

constexpr Duration kBetweenSlices = millis(5);  // room for what is more urgent

}  // namespace

void Engine::handle(CheckRequested&) {
  if (!serves_ || check_ != Check::kNone) return;
  check_ = Check::kFirstSlice;
  next_slice_ = now_;
}

bool Engine::slice_is_due() const {
  return serves_ && check_ != Check::kNone && !comparing_ && now_ >= next_slice_;
}

void Engine::check_when_due() {
  if (!serves_) return;
  if (check_ == Check::kNone && now_ >= next_check_) {
    check_ = Check::kFirstSlice;
    next_slice_ = now_;
  }
  // Otherwise with the next commit: only at its edge is memory what the store holds.
  if (slice_is_due() && !writing_ && gathering_.is_empty()) take_slice();
}

void Engine::take_slice() {
  comparing_ = true;
  orders_.emplace_back(TakeSlice{state_->term, check_ == Check::kFirstSlice});
  check_ = Check::kFurtherSlice;
}

void Engine::handle(SliceChecked& checked) {
  if (!serves_ || !comparing_ || checked.term != state_->term) return;
  comparing_ = false;
  next_slice_ = now_ + kBetweenSlices;
  if (checked.last) end_check(std::move(checked.findings));
}

void Engine::end_check(std::vector<std::string> findings) {
  check_ = Check::kNone;
  next_check_ = now_ + config_.policy.reconcile_interval;
  // What another load did not cure is only told: the store is the truth, and it was read.
  const bool again = findings == last_found_;
  last_found_ = findings;
  const bool reloads = !findings.empty() && !again;
  orders_.emplace_back(CheckEnded{findings, reloads});
  if (findings.empty()) return;
  if (!reloads) {
    step_into(gathering_, core::NoteFindings{std::move(findings), false});
    return;
  }
  carried_ = std::move(findings);
  abandon("memory differs from the database");
}

}  // namespace vortex::engine
