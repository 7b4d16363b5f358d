#include "bench/core/measured_core.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/core.h>
#include <malloc.h>

#include "core/load.h"
#include "core/step.h"

namespace vortex::bench {

namespace {

constexpr Instant kStart{1'000'000'000};
constexpr Duration kBetweenSteps = micros(5);
constexpr std::uint64_t kSeed = 7;

core::State fresh_state(const core::Policy& policy) {
  core::Effects repairs;
  return core::load(policy, Term{1}, kStart, kSeed, StoreImage{}, repairs);
}

}  // namespace

MeasuredCore::MeasuredCore(const core::Policy& policy)
    : state_(fresh_state(policy)), now_(kStart) {}

std::vector<core::Reply> MeasuredCore::apply(const core::Command& command) {
  now_ = now_ + kBetweenSteps;
  std::vector<core::Reply> replies;
  watch_.start();
  {
    core::Effects effects = core::step(state_, command, now_);
    replies = std::move(effects.replies);
  }
  watch_.stop();
  return replies;
}

void MeasuredCore::let_pass(Duration time) {
  const Instant end = now_ + time;
  while (now_ < end) {
    now_ = now_ + state_.policy.sweep;
    apply(core::Tick{});
  }
}

void MeasuredCore::finish_bulk() {
  while (!state_.bulk.empty() || !state_.leftover.empty()) apply(core::Tick{});
}

std::int64_t heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks) + static_cast<std::int64_t>(info.hblkhd);
}

void give_up(const char* what) {
  fmt::print(stderr, "bench_core: {}\n", what);
  std::exit(1);
}

}  // namespace vortex::bench
