#pragma once
// The names of things. Each kind of id is its own type; none converts to another.
//
// A task's id is its run and its index in the run's plan; people see `r42-L1-7` (run 42, level 1,
// index 7), from which the level can be read back. On the wire and on disk: append-only.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/strong.h"

namespace vortex {

using RunId = StrongNumber<struct RunTag>;
using RecoveryId = StrongNumber<struct RecoveryTag>;
using Epoch = StrongNumber<struct EpochTag>;              // fences out earlier holders
using Incarnation = StrongNumber<struct IncarnationTag>;  // one life of a worker process
using Term = StrongNumber<struct TermTag>;                // epoch of the controllers' leadership
using RequestId = StrongNumber<struct RequestTag>;        // a caller waiting for a reply

using WorkerId = StrongText<struct WorkerTag>;
using MachineId = StrongText<struct MachineTag>;
using AgentId = StrongText<struct AgentTag>;  // holder of partition leases
using ControllerId = StrongText<struct ControllerTag>;

struct TaskId {
  RunId run;
  std::uint32_t index = 0;
  std::uint32_t level = 0;  // only to be shown: run and index say which task it is
  friend constexpr bool operator==(TaskId a, TaskId b) {
    return a.run == b.run && a.index == b.index;
  }
  friend constexpr auto operator<=>(TaskId a, TaskId b) {
    return a.run != b.run ? a.run <=> b.run : a.index <=> b.index;
  }
};

struct PartitionKey {
  std::string topic;
  std::uint32_t partition = 0;
  friend auto operator<=>(const PartitionKey&, const PartitionKey&) = default;
};

std::string to_text(RunId run);
std::string to_text(TaskId task);

std::optional<RunId> parse_run_id(std::string_view text);
std::optional<TaskId> parse_task_id(std::string_view text);

// The level in any id of the form `*-L{level}-*`, also in ids we did not make ourselves.
std::optional<std::uint32_t> level_from_id(std::string_view text);

}  // namespace vortex
