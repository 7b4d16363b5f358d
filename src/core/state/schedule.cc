#include "core/state/schedule.h"

namespace vortex::core {

ScheduleIx ScheduleTable::add(std::string dag) {
  ScheduleIx ix{static_cast<std::uint32_t>(slots_.size())};
  if (free_.empty()) {
    slots_.push_back(nullptr);
  } else {
    ix = free_.back();
    free_.pop_back();
  }
  slots_[ix.value] = std::make_unique<Schedule>();
  slots_[ix.value]->dag = dag;
  by_name_.emplace(std::move(dag), ix);
  return ix;
}

void ScheduleTable::remove(ScheduleIx ix) {
  by_name_.erase(slots_[ix.value]->dag);
  slots_[ix.value].reset();
  free_.push_back(ix);
}

ScheduleIx ScheduleTable::find(std::string_view dag) const {
  const auto found = by_name_.find(dag);
  return found == by_name_.end() ? ScheduleIx::none() : found->second;
}

void ScheduleTable::remove_run(const std::string& dag, RunId run) {
  const auto found = live_.find(dag);
  if (found == live_.end()) return;
  found->second.erase(run);
  if (found->second.empty()) live_.erase(found);
}

const std::set<RunId>& ScheduleTable::live(std::string_view dag) const {
  static const std::set<RunId> none;
  const auto found = live_.find(dag);
  return found == live_.end() ? none : found->second;
}

}  // namespace vortex::core
