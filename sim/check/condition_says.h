#pragma once
// Conditions as the simulator draws them (sim/draw_seventh.cc), read by a second, smaller hand.
//
// Knows only those forms and nothing of model/condition.h, so that the checkers do not believe the
// code they judge. Whatever else stands there is kUnclear.
//
//   ATOM { " and " ATOM }   or   ATOM { " or " ATOM }
//   ATOM   [not ] succeeded(TASK) | failed(TASK) | skipped(TASK) | true | false | params.n == N |
//          tasks.TASK.outputs.v >= N | (tasks.TASK.outputs.v ?? M) >= N

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace vortex::sim {

enum class ConditionSays : std::uint8_t {
  kOpen,  // something it refers to has not ended
  kYes,
  kNo,
  kUnclear,  // it needs a value that is not there
};

enum class NamedEnd : std::uint8_t { kOpen, kSucceeded, kFailed, kSkipped };

struct ConditionView {
  std::function<NamedEnd(std::string_view task)> end_of;
  std::function<std::optional<std::int64_t>(std::string_view task)> value_of;  // output v
  std::optional<std::int64_t> param;                                           // params.n
};

ConditionSays read_drawn(std::string_view condition, const ConditionView& view);

}  // namespace vortex::sim
