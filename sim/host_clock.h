#pragma once
// The clocks of one host: a boot clock that only runs fast or slow, and a wall clock that jumps.
//
// Nobody in the simulated world but the world itself reads true time. Rates are in parts per
// million and fixed for the life of the host, so a boot time converts back to one true time.

#include <cstdint>

#include "base/time.h"

namespace vortex::sim {

class HostClock {
 public:
  HostClock() = default;
  HostClock(Duration offset, std::int64_t rate_ppm) : offset_(offset), rate_ppm_(rate_ppm) {}

  Instant boot(Instant true_time) const {
    return {offset_.us + true_time.us + true_time.us * rate_ppm_ / kMillion};
  }
  Instant wall(Instant true_time) const { return boot(true_time) + wall_offset_; }
  void jump_wall(Duration by) { wall_offset_ += by; }

  // The first true time at which the boot clock shows at least this.
  Instant true_at(Instant boot_time) const {
    if (boot_time >= kNever) return kNever;
    const std::int64_t elapsed = boot_time.us - offset_.us;
    Instant guess{elapsed - elapsed * rate_ppm_ / (kMillion + rate_ppm_) - 2};
    while (boot(guess) < boot_time) guess.us += 1;
    return guess;
  }
  // How long in true time this clock takes for a span of its own.
  Duration true_span(Duration own) const { return {own.us * kMillion / (kMillion + rate_ppm_)}; }
  std::int64_t rate_ppm() const { return rate_ppm_; }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;

  Duration offset_;
  Duration wall_offset_;
  std::int64_t rate_ppm_ = 0;
};

}  // namespace vortex::sim
