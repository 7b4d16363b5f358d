// The small pieces of the core, one by one, at different sizes of what surrounds them.

#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "bench/core/fleet.h"
#include "core/machine.h"
#include "core/state/ready.h"
#include "core/state/timers.h"

namespace vortex::bench {

namespace {

using core::Judged;
using core::TimerKey;
using core::TimerKind;

constexpr Judged in_us(std::int64_t us) { return {us}; }

// Sets a timer far ahead and clears it again, among as many others.
void timers_set_clear(benchmark::State& bench) {
  const auto count = static_cast<std::uint32_t>(bench.range(0));
  core::Timers timers;
  Rng rng(1);
  for (std::uint32_t i = 0; i < count; ++i) {
    timers.set({TimerKind::kTask, i}, in_us(rng.between(0, 1'000'000)));
  }
  const TimerKey key{TimerKind::kTask, count};
  for ([[maybe_unused]] auto lap : bench) {
    timers.set(key, in_us(2'000'000));
    timers.clear(key);
  }
}

// Takes the earliest out and sets it again behind, so that the number stays.
void timers_pop_set(benchmark::State& bench) {
  const auto count = static_cast<std::uint32_t>(bench.range(0));
  core::Timers timers;
  Rng rng(1);
  for (std::uint32_t i = 0; i < count; ++i) {
    timers.set({TimerKind::kTask, i}, in_us(rng.between(0, 1'000'000)));
  }
  std::int64_t now = 0;
  for ([[maybe_unused]] auto lap : bench) {
    now = timers.next()->us;
    const auto key = timers.pop_due(in_us(now));
    timers.set(*key, in_us(now + 1 + rng.between(0, 1'000'000)));
  }
}

void ready_push_remove(benchmark::State& bench) {
  const auto count = static_cast<std::uint32_t>(bench.range(0));
  core::TaskTable tasks;
  core::ReadyQueues ready;
  const core::ClassIx cls = ready.use_class(Requirements{});
  for (std::uint32_t i = 0; i < count; ++i) {
    const core::TaskIx ix = tasks.add();
    tasks[ix].phase = core::Queued{};
    ready.push(tasks, cls, 0, ix);
  }
  for ([[maybe_unused]] auto lap : bench) {
    const core::TaskIx head = ready[cls].lists.front().tasks.head;
    ready.remove(tasks, cls, 0, head);
    ready.push(tasks, cls, 0, head);
  }
}

void backoff(benchmark::State& bench) {
  Rng rng(1);
  const Backoff policy;
  std::uint32_t failures = 0;
  for ([[maybe_unused]] auto lap : bench) {
    failures = failures % 8 + 1;
    benchmark::DoNotOptimize(core::backoff_delay(policy, failures, rng));
  }
}

void judge_rules(benchmark::State& bench) {
  core::NodeRun node;
  node.needs_done = 3;
  node.needs_ok = 2;
  node.needs_skipped = 1;
  std::uint32_t rule = 0;
  for ([[maybe_unused]] auto lap : bench) {
    rule = (rule + 1) % 7;
    benchmark::DoNotOptimize(core::judge_rule(static_cast<TriggerRule>(rule), 4, node));
  }
}

// One call with nothing to say, answered at once, among as many workers.
void one_sync(benchmark::State& bench) {
  MeasuredCore core;
  Fleet fleet(core, {static_cast<std::uint32_t>(bench.range(0)), 1});
  std::uint32_t worker = 0;
  for ([[maybe_unused]] auto lap : bench) {
    fleet.heartbeat(worker, Duration{});
    worker = (worker + 1) % fleet.workers();
  }
}

BENCHMARK(timers_set_clear)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(timers_pop_set)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(ready_push_remove)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(backoff);
BENCHMARK(judge_rules);
BENCHMARK(one_sync)->Arg(16)->Arg(10'000);

}  // namespace

}  // namespace vortex::bench

BENCHMARK_MAIN();
