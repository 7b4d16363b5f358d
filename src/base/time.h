#pragma once
// Time as plain integers: a Duration and a point on some clock, both in microseconds.
//
// No clock is read here. An Instant is only ever compared with Instants of the same clock:
// the controller's term clock, or one worker's boot clock. Nothing compares clocks of two hosts.

#include <compare>
#include <cstdint>
#include <limits>

namespace vortex {

struct Duration {
  std::int64_t us = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.us + b.us}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.us - b.us}; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return {a.us * n}; }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return {a.us / n}; }
  constexpr Duration& operator+=(Duration d) { return us += d.us, *this; }
};

constexpr Duration micros(std::int64_t n) { return {n}; }
constexpr Duration millis(std::int64_t n) { return {n * 1'000}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
constexpr Duration hours(std::int64_t n) { return minutes(n * 60); }

constexpr Duration kForever{std::numeric_limits<std::int64_t>::max() / 4};

struct Instant {
  std::int64_t us = 0;

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.us + d.us}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.us - d.us}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.us - b.us}; }
};

constexpr Instant kNever{std::numeric_limits<std::int64_t>::max() / 2};

}  // namespace vortex
