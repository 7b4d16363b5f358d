#pragma once
// How much waits in each queue and how much of it is on workers, from memory: no scan over tasks.
// Costs one look per class of requirements and per held task; changes nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/state.h"

namespace vortex::core {

struct QueueDepth {
  std::string name;
  bool paused = false;
  std::uint64_t ready = 0;              // may start now
  std::uint64_t held = 0;               // on workers
  std::uint32_t workers = 0;            // present ones that listen to it
  std::optional<Instant> oldest_ready;  // since when the oldest of them is ready
};

std::vector<QueueDepth> queue_depths(const State& state);

}  // namespace vortex::core
