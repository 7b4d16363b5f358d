#pragma once
// Runs whose DAG limits how many of them go on at once: by group, who goes on and who waits.
//
// A group is the DAG's name and a key. Everything here follows from the runs in memory; a group
// with nobody in it is forgotten. Runs are numbered by age, so the oldest comes first.

#include <deque>
#include <map>
#include <set>
#include <string>

#include "model/ids.h"

namespace vortex::core {

struct GroupName {
  std::string dag;
  std::string key;  // empty: all runs of the DAG
  friend auto operator<=>(const GroupName&, const GroupName&) = default;
};

struct RunGroup {
  std::set<RunId> holding;  // have begun and not ended
  std::set<RunId> waiting;
  bool is_due = false;  // somebody who waits may have a turn
};

class RunGroups {
 public:
  void hold(const GroupName& name, RunId run) { groups_[name].holding.insert(run); }
  void wait(const GroupName& name, RunId run) {
    groups_[name].waiting.insert(run);
    make_due(name);
  }
  void leave(const GroupName& name, RunId run) {
    const auto found = groups_.find(name);
    if (found == groups_.end()) return;
    RunGroup& group = found->second;
    group.holding.erase(run);
    group.waiting.erase(run);
    if (!group.waiting.empty()) return make_due(name);
    if (group.holding.empty() && !group.is_due) groups_.erase(found);
  }
  // Null: nobody is in it.
  const RunGroup* find(const GroupName& name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : &found->second;
  }
  const std::map<GroupName, RunGroup>& all() const { return groups_; }

  bool any_due() const { return !due_.empty(); }
  // The one that has been due for longest. Precondition: any_due.
  GroupName next_due() {
    GroupName name = std::move(due_.front());
    due_.pop_front();
    RunGroup& group = groups_[name];
    group.is_due = false;
    if (group.holding.empty() && group.waiting.empty()) groups_.erase(name);
    return name;
  }
  void make_due(const GroupName& name) {
    RunGroup& group = groups_[name];
    if (!group.is_due) group.is_due = true, due_.push_back(name);
  }

 private:
  std::map<GroupName, RunGroup> groups_;
  std::deque<GroupName> due_;
};

}  // namespace vortex::core
