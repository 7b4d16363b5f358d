#pragma once
// All deadlines in one ordered structure: at most one per thing, so a tick costs what expired.
//
// An indexed 4-ary heap in judged time. Ties fall by key, so the order is the same in every run.
// A thing with several deadlines keeps the nearest here and decides again when it fires.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"

namespace vortex::core {

// The clock by which the core judges others: it stands still while the controller itself is away.
//
// A controller that was paused, or late, heard nobody for that long through its own fault. Every
// deadline for others is kept in judged time, so the lost while is added to all of them at once.

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

enum class TimerKind : std::uint8_t {
  kTask,
  kWorker,
  kRun,
  kLease,
  kOwn,
  kProbation,
  kSchedule,
  kLimit,
};
inline constexpr std::size_t kTimerKinds = 8;

// The controller's own duties, as indexes of TimerKind::kOwn.
enum class OwnTimer : std::uint32_t { kHealthPass, kReconcile, kBrake };

struct TimerKey {
  TimerKind kind = TimerKind::kOwn;
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(TimerKey, TimerKey) = default;
};

class Timers {
 public:
  // Sets or moves the timer; kJudgedNever clears it.
  void set(TimerKey key, Judged at);
  void clear(TimerKey key);
  std::optional<Judged> at(TimerKey key) const;

  std::optional<Judged> next() const;
  // The earliest timer that is due at `now`, taken out; none when nothing is due.
  std::optional<TimerKey> pop_due(Judged now);

  std::size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    Judged at;
    TimerKey key;
    friend constexpr auto operator<=>(const Entry&, const Entry&) = default;
  };

  std::uint32_t& position(TimerKey key);
  void place(std::uint32_t slot, const Entry& entry);
  void sift_up(std::uint32_t slot, const Entry& entry);
  void sift_down(std::uint32_t slot, const Entry& entry);
  void remove_at(std::uint32_t slot);

  std::vector<Entry> heap_;
  std::array<std::vector<std::uint32_t>, kTimerKinds> positions_;  // by key: slot + 1, 0 for none
};

}  // namespace vortex::core
