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

#include "core/state.h"
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

}  // namespace vortex::core
