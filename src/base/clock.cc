#include "base/clock.h"

#include <ctime>

namespace vortex {
namespace {

Instant read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return {std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

}  // namespace

Instant boot_clock_now() { return read(CLOCK_BOOTTIME); }
Instant wall_clock_now() { return read(CLOCK_REALTIME); }

}  // namespace vortex
