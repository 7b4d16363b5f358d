#pragma once
// A task as one number: its run above, its index in the lowest 24 bits, so that the tasks of a run
// are neighbours. Ids that do not fit are nobody's; no function here asserts. On disk: append-only.

#include <cstdint>
#include <optional>

#include "model/ids.h"

namespace vortex::store {

inline constexpr int kIndexBits = 24;
inline constexpr std::uint64_t kRunsEnd = std::uint64_t{1} << (62 - kIndexBits);

// Nothing: no task of ours can have this id.
inline std::optional<std::int64_t> key_of(TaskId task) {
  if (task.index >> kIndexBits != 0 || task.run.value >= kRunsEnd) return std::nullopt;
  return static_cast<std::int64_t>(task.run.value << kIndexBits | task.index);
}

inline TaskId task_of(std::int64_t key, std::uint32_t level) {
  const auto bits = static_cast<std::uint64_t>(key);
  constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
  return {.run = {bits >> kIndexBits},
          .index = static_cast<std::uint32_t>(bits & kIndexMask),
          .level = level};
}

// The keys of a run's tasks: [first, end).
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
inline KeyRange keys_of(RunId run) {
  const std::uint64_t id = run.value < kRunsEnd ? run.value : kRunsEnd;
  return {static_cast<std::int64_t>(id << kIndexBits),
          static_cast<std::int64_t>((id + 1) << kIndexBits)};
}

}  // namespace vortex::store
