#include "bench/core/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace vortex::bench {

namespace {

constexpr double kShortLapNs = 10e6;

std::int64_t wall_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::int64_t cpu_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void Stopwatch::begin_lap() {
  inside_ns_ = 0;
  lap_wall_ns_ = wall_now_ns();
  lap_cpu_ns_ = cpu_now_ns();
}

void Stopwatch::start() { started_ns_ = wall_now_ns(); }

void Stopwatch::stop() { inside_ns_ += wall_now_ns() - started_ns_; }

Cost Stopwatch::lap() const {
  const auto wall = static_cast<double>(std::max<std::int64_t>(wall_now_ns() - lap_wall_ns_, 1));
  const auto cpu = static_cast<double>(cpu_now_ns() - lap_cpu_ns_);
  const auto inside = static_cast<double>(inside_ns_);
  const double share = wall < kShortLapNs ? 1 : std::min(cpu / wall, 1.0);
  return {inside, inside * share};
}

}  // namespace vortex::bench
