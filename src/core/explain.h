#pragma once
// Why a task is where it is, and what would move it. For any task of a live run, at any time.
//
// The reason is a closed list that programs can act on; `details` are the facts behind it and
// `moves_when` the next thing that changes it, as short sentences for people.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/state/state.h"
#include "model/ids.h"
#include "model/states.h"

namespace vortex::core {

enum class WaitReason : std::uint8_t {
  kUnknownTask,
  kFinal,
  kNotMadeYet,   // item of a map that is not ready, or is still being made
  kNeedsOpen,    // waits for other nodes
  kLevelClosed,  // waits for lower levels
  kBackoff,
  kRunPaused,
  kQueuePaused,
  kMapAtLimit,
  kNoSuchWorker,  // no worker, present or not, fits its requirements
  kFittingWorkersGone,
  kFittingWorkersBarred,  // cordoned, suspect or draining
  kFittingWorkersFull,
  kKeepsAway,      // from its last worker, for a short while
  kLastTryApart,   // from another suspect on its last try
  kBehindOthers,   // others are ahead in the queue
  kNotStartedYet,  // handed to a worker
  kRunning,
  kStopping,
};

struct Explanation {
  WaitReason reason = WaitReason::kUnknownTask;
  TaskState state = TaskState::kWaiting;
  std::vector<std::string> details;
  std::string moves_when;
  std::optional<Instant> moves_at;  // when the time is known
};

// Not const: asking which workers fit fills a cache of the answer.
Explanation explain(State& state, TaskId id, Instant now);

std::string_view to_text(WaitReason reason);

// How much waits in each queue and how much of it is on workers, from memory: no scan over tasks.
// Costs one look per class of requirements and per held task; changes nothing.

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
