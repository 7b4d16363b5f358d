#pragma once
// How far a run is, by group of tasks: one group per node of its DAG.
//
// Fed with states as they were read and with events as they come; both may overlap, because an
// event says where a task is now and not how far it moved. Pure; knows nothing of screens or time.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "model/plan.h"
#include "model/states.h"

namespace vortex::cli {

struct TaskGroup {
  std::string name;
  std::uint32_t total = 0;
  std::array<std::uint32_t, kTaskStates> by_state{};

  std::uint32_t in(TaskState state) const { return by_state[number_of(state)]; }
  std::uint32_t ended() const;
  std::uint32_t held() const;
  bool started() const { return held() > 0 || ended() > 0; }
};

std::optional<TaskState> task_state_from(std::string_view text);

class ProgressModel {
 public:
  // All tasks wait. With `kWhole` there is one group for everything: too many tasks to know each.
  enum class Detail : std::uint8_t { kByNode, kWhole };
  ProgressModel(PlanPtr plan, Detail detail);

  void set(std::uint32_t index, TaskState state);
  // One event of this run.
  void apply(const boost::json::object& event);
  // The member `counts` of a run: the truth for a model with one group.
  void set_counts(const boost::json::object& counts);

  const std::vector<TaskGroup>& groups() const { return groups_; }
  TaskGroup total() const;
  const DagPlan& plan() const { return *plan_; }
  Detail detail() const { return detail_; }

 private:
  PlanPtr plan_;
  Detail detail_;
  std::vector<TaskGroup> groups_;
  std::vector<TaskState> states_;  // by index of the task; empty with one group
};

}  // namespace vortex::cli
