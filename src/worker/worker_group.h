#pragma once
// All processes of one worker, as its supervisor sees them: to be killed and proved gone when the
// worker process has died.
//
// The supervisor must be a child subreaper: what a dead worker leaves behind becomes its child, and
// every child that is not a known worker is killed, again and again, until there is none. With
// control groups of version 2 the worker is started inside a group of its own as well, and killing
// that is one write. On the supervisor's thread, which is the only one to wait for children.

#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"
#include "worker/cgroup.h"

namespace vortex::worker {

enum class Containment { kAuto, kTreeOnly };

class WorkerGroup {
 public:
  WorkerGroup(Containment containment, GroupName name);

  // Makes the group. False: there is none to be had, and process trees are all there is to go by.
  bool prepare();
  // In the child, between fork and exec: enters the group. Only system calls.
  void enter() const noexcept;
  // The same by id, from the parent. False: not moved.
  bool enter(pid_t pid) const;

  // Kills once and reaps; `known` are the worker processes that live. True: nothing is left.
  bool kill_once(std::span<const pid_t> known);
  // Kills until nothing is left. False: something could not be killed within the limit.
  bool kill_all(std::span<const pid_t> known, Duration limit);
  bool is_empty(std::span<const pid_t> known) const;
  // Removes the groups of this worker in every hierarchy.
  void remove();

 private:
  GroupName name_;
  CgroupRoots roots_;
  std::string folder_;  // version 2; empty: none
  Fd entrance_;
};

}  // namespace vortex::worker
