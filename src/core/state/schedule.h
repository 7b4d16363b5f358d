#pragma once
// Schedules of stored DAGs, and which live runs each of them has started.
//
// Runs are known by the name of the schedule, whether there is one or not: a DAG that was deleted
// and is applied again finds its runs. A place is only used again for another name in a later step.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/zone.h"
#include "core/state/index.h"
#include "model/ids.h"
#include "model/rows.h"

namespace vortex::core {

struct Schedule : ScheduleRow {
  ZonePtr zone;  // null: its time zone is not known here, so it has no slots
  bool dirty = false;

  const ScheduleSpec& spec() const { return *plan->spec.schedule; }
};

class ScheduleTable {
 public:
  ScheduleIx add(std::string dag);
  // The row was removed; nothing of it is to be written any more.
  void remove(ScheduleIx ix);
  ScheduleIx find(std::string_view dag) const;
  const std::map<std::string, ScheduleIx, std::less<>>& by_name() const { return by_name_; }

  Schedule& operator[](ScheduleIx ix) { return *slots_[ix.value]; }
  const Schedule& operator[](ScheduleIx ix) const { return *slots_[ix.value]; }

  void add_run(const std::string& dag, RunId run) { live_[dag].insert(run); }
  void remove_run(const std::string& dag, RunId run);
  // Runs of that schedule that have not ended, oldest first.
  const std::set<RunId>& live(std::string_view dag) const;
  const std::map<std::string, std::set<RunId>, std::less<>>& all_live() const { return live_; }

 private:
  std::vector<std::unique_ptr<Schedule>> slots_;
  std::vector<ScheduleIx> free_;
  std::map<std::string, ScheduleIx, std::less<>> by_name_;
  std::map<std::string, std::set<RunId>, std::less<>> live_;  // none is empty
};

}  // namespace vortex::core
