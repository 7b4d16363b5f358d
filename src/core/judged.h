#pragma once
// The clock by which the core judges others: it stands still while the controller itself is away.
//
// A controller that was paused, or late, heard nobody for that long through its own fault. Every
// deadline for others is kept in judged time, so the lost while is added to all of them at once.

#include "base/time.h"

namespace vortex::core {

struct Judged {
  std::int64_t us = 0;
  friend constexpr auto operator<=>(Judged, Judged) = default;
  friend constexpr Judged operator+(Judged t, Duration d) { return {t.us + d.us}; }
  friend constexpr Judged operator-(Judged t, Duration d) { return {t.us - d.us}; }
  friend constexpr Duration operator-(Judged a, Judged b) { return {a.us - b.us}; }
};

constexpr Judged kJudgedNever{kNever.us};

class JudgedClock {
 public:
  explicit JudgedClock(Instant start) : last_seen_(start) {}

  // Called at every step. Steps come at least every `sweep`; a longer gap was our own absence.
  // Returns how much of it was.
  Duration advance(Instant now, Duration sweep) {
    const Duration gap = now - last_seen_;
    if (now > last_seen_) last_seen_ = now;
    if (gap <= sweep * 2) return {};
    const Duration away = gap - sweep;
    away_ += away;
    return away;
  }

  Judged judged(Instant t) const { return {t.us - away_.us}; }
  Instant term_time(Judged t) const { return {t.us + away_.us}; }
  Instant last_seen() const { return last_seen_; }

 private:
  Duration away_{};
  Instant last_seen_;
};

}  // namespace vortex::core
