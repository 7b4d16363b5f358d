#include "model/dag.h"

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/hash.h"

namespace vortex {
namespace {

// All arithmetic is unsigned, where wrapping is defined: the distance between two int64 always
// fits a uint64, and so does the size of every step.
std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::uint64_t count_range(const MapRange& range) {
  const bool up = range.step > 0;
  if (range.step == 0) return 0;
  if (up ? range.first > range.last : range.first < range.last) return 0;
  const std::uint64_t distance =
      up ? bits(range.last) - bits(range.first) : bits(range.first) - bits(range.last);
  const std::uint64_t steps = distance / (up ? bits(range.step) : 0 - bits(range.step));
  return steps == std::numeric_limits<std::uint64_t>::max() ? steps : steps + 1;
}

}  // namespace

std::uint64_t count_items(const MapSpec& map) {
  if (is_late(map)) return 0;
  if (const auto* range = std::get_if<MapRange>(&map.over)) return count_range(*range);
  return std::get<std::vector<std::string>>(map.over).size();
}

std::string item_text(const MapSpec& map, std::uint64_t position) {
  VX_ASSERT(position < count_items(map));
  if (const auto* range = std::get_if<MapRange>(&map.over)) {
    const std::uint64_t item = bits(range->first) + position * bits(range->step);
    return fmt::to_string(static_cast<std::int64_t>(item));
  }
  return std::get<std::vector<std::string>>(map.over)[position];
}

}  // namespace vortex

// Every struct is taken apart by a structured binding that has to name all of its fields: one
// that is added to the specification and forgotten here does not compile.

namespace vortex {
namespace {

constexpr std::uint64_t kMapAsFollows = 0xFFFF'FFFF'0000'0001;
constexpr std::uint64_t kStaleCountsFollow = 0xFFFF'FFFF'0000'0002;
constexpr std::uint64_t kSecretsFollow = 0xFFFF'FFFF'0000'0003;
constexpr std::uint64_t kUserFollows = 0xFFFF'FFFF'0000'0004;
constexpr std::uint64_t kConditionFollows = 0xFFFF'FFFF'0000'0005;
constexpr std::uint64_t kContinueFollows = 0xFFFF'FFFF'0000'0006;
constexpr std::uint64_t kOnlyExitFollows = 0xFFFF'FFFF'0000'0007;
constexpr std::uint64_t kRetryOnFollows = 0xFFFF'FFFF'0000'0008;
constexpr std::uint64_t kScheduleFollows = 0xFFFF'FFFF'0000'0009;
constexpr std::uint64_t kInputsFollow = 0xFFFF'FFFF'0000'0010;
constexpr std::uint64_t kWaitFollows = 0xFFFF'FFFF'0000'000A;
constexpr std::uint64_t kFinallyFollows = 0xFFFF'FFFF'0000'000B;
constexpr std::uint64_t kFinallyTimeoutFollows = 0xFFFF'FFFF'0000'000C;
constexpr std::uint64_t kConcurrencyFollows = 0xFFFF'FFFF'0000'0020;
constexpr std::uint64_t kLimitsFollow = 0xFFFF'FFFF'0000'0021;
constexpr std::uint64_t kChildFollows = 0xFFFF'FFFF'0000'0018;
constexpr std::uint64_t kOutputsFollow = 0xFFFF'FFFF'0000'0019;
constexpr std::uint64_t kDagsFollow = 0xFFFF'FFFF'0000'001A;

class SpecHasher {
 public:
  SpecDigest digest() const { return {hasher_.value(), hasher_.bytes()}; }

  template <class Number>
    requires(std::integral<Number> || std::is_enum_v<Number>)
  void add(Number number) {
    hasher_.add(static_cast<std::uint64_t>(number));
  }
  void add(const std::string& text) { hasher_.add(std::string_view(text)); }
  void add(Duration duration) { add(duration.us); }
  void add(const WorkerId& worker) { add(worker.text); }

  // A list carries its length, so that no element can pass for part of its neighbour's list.
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& element : list) add(element);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    all(pair.first, pair.second);
  }

  void add(const Backoff& backoff) {
    const auto& [kind, delay, max_delay, jitter_permille] = backoff;
    all(kind, delay, max_delay, jitter_permille);
  }
  void add(const RetryPolicy& retry) {
    const auto& [max_retries, backoff, unless_exit, only_exit, on] = retry;
    all(max_retries, backoff, unless_exit);
    if (!only_exit.empty()) all(kOnlyExitFollows, only_exit);
    if (!on.empty()) all(kRetryOnFollows, on);
  }
  void add(const Resources& resources) {
    const auto& [cpu_milli, memory_bytes, named] = resources;
    all(cpu_milli, memory_bytes, named);
  }
  void add(const Requirements& requirements) {
    const auto& [queue, labels, runtime, worker, resources, user] = requirements;
    all(queue, labels, runtime, worker, resources);
    if (!user.empty()) all(kUserFollows, user);
  }
  void add(const MapRange& range) {
    const auto& [first, last, step] = range;
    all(first, last, step);
  }
  void add(const MapOver& over) { add(over.text); }
  void add(const MapSpec& map) {
    const auto& [over, max_parallel, max_failures, as] = map;
    add(over.index());
    std::visit([this](const auto& items) { add(items); }, over);
    all(max_parallel, max_failures);
    // Younger than the first digests: only told where it says something. The number is one that
    // no length can have, so it cannot pass for what comes next.
    if (as != MapSpec{}.as) all(kMapAsFollows, as);
  }
  void add(const ParamSpec& param) {
    const auto& [name, type, fallback, help] = param;
    all(name, type, fallback, help);
  }
  void add(const CommandLine& command) {
    const auto& [argv, shell, env, workdir] = command;
    all(argv, shell, env, workdir);
  }
  void add(const SecretUse& use) {
    const auto& [as, secret, version, file] = use;
    all(as, secret, version, file);
  }
  void add(const NodeSpec& node) {
    const auto& [name, needs, trigger, retry, requirements, priority, exclusive, execution_timeout,
                 scheduled_timeout, stale_after, stale_counts, map, command, outputs, secrets,
                 condition, continue_on_error, inputs, wait, limits, finally, child] = node;
    all(name, needs, trigger, retry, requirements, priority, exclusive, execution_timeout,
        scheduled_timeout, stale_after, map, command, outputs);
    if (stale_counts != StaleCounts{}) {  // younger than the first digests
      all(kStaleCountsFollow, stale_counts.progress, stale_counts.output);
    }
    if (!secrets.empty()) all(kSecretsFollow, secrets);  // the same
    if (!condition.empty()) all(kConditionFollows, condition);
    if (continue_on_error) add(kContinueFollows);
    if (!inputs.empty()) all(kInputsFollow, inputs);
    if (wait) all(kWaitFollows, *wait);
    if (!limits.empty()) all(kLimitsFollow, limits);
    if (finally) add(kFinallyFollows);
    if (child) all(kChildFollows, child->dag, child->params);
  }
  void add(const WrittenTime& time) { add(time.text); }
  void add(const WaitSpec& wait) {
    const auto& [kind, length, until, text, by, timeout] = wait;
    all(kind, length, until, text, by, timeout);
  }
  void add(const ScheduleSpec& schedule) {
    // The rule follows from `cron`.
    const auto& [cron, rule, every, timezone, overlap, catchup, jitter, from, until,
                 pause_on_failure] = schedule;
    all(cron, every, timezone, overlap, catchup.window, catchup.limit, jitter, from, until,
        pause_on_failure);
  }
  void add(const ConcurrencySpec& concurrency) {
    const auto& [key, limit, on_full] = concurrency;
    all(key, limit, on_full);
  }
  void add(const DagSpec& spec) {
    const auto& [name, nodes, barrier_levels, run_timeout, params, schedule, finally_timeout,
                 concurrency, outputs, dags] = spec;
    all(name, nodes, barrier_levels, run_timeout);
    if (!params.empty()) add(params);                // younger than the first digests
    if (schedule) all(kScheduleFollows, *schedule);  // the same
    if (finally_timeout) all(kFinallyTimeoutFollows, *finally_timeout);
    if (concurrency) all(kConcurrencyFollows, *concurrency);
    if (!outputs.empty()) all(kOutputsFollow, outputs);
    if (dags.empty()) return;
    all(kDagsFollow, dags.size());
    for (const auto& dag : dags) add(*dag);  // these have none of their own
  }

 private:
  template <class... Fields>
  void all(const Fields&... fields) {
    (add(fields), ...);
  }

  Hasher hasher_;
};

}  // namespace

SpecDigest measure(const DagSpec& spec) {
  SpecHasher hasher;
  hasher.add(spec);
  return hasher.digest();
}

std::uint64_t digest_of(const NodeSpec& spec) {
  SpecHasher hasher;
  hasher.add(spec);
  return hasher.digest().value;
}

}  // namespace vortex
