#pragma once
// Control groups: where this process may make groups of its own, and how a group is emptied.
//
// Below the group this program was started in: vortex/<supervisor>/<worker>/, in it `agent` for the
// worker process and `slot-<n>` for the runner of each slot and its tasks. Works with version 2
// alone, with version 1, and with both at once; where nothing may be written everything here says
// no and the callers go by process trees alone. No thread of its own, no state but paths.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/time.h"
#include "model/dag.h"
#include "worker/files.h"

namespace vortex::worker {

// The folder of this program's own group in each hierarchy; empty: there is none.
struct CgroupRoots {
  std::string unified;            // version 2
  std::string memory, cpu, pids;  // version 1
};

struct GroupName {
  std::string supervisor;
  std::string worker;
};

struct CgroupTexts {
  std::string_view mounts;  // /proc/self/mountinfo
  std::string_view own;     // /proc/self/cgroup
};
// Where groups that this supervisor made begin, seen from the supervisor or from inside them.
CgroupRoots cgroup_roots(CgroupTexts texts, std::string_view supervisor);
CgroupRoots find_cgroup_roots(std::string_view supervisor);

// A name that stands for any text and is one component of a path.
std::string group_component(std::string_view name);

// root/vortex/<supervisor>[/<worker>]
std::string group_folder(const std::string& root, const GroupName& name);

// With all folders above it. False: not allowed here.
bool make_group(const std::string& folder);
// Makes the controllers of version 2 that `root` may pass on available below `folder`.
void pass_on_controllers(const std::string& root, const std::string& folder);
// Removes a group and those below it. False: something is still in there.
bool remove_group(const std::string& folder);

// Kills everything in a group of version 2 and below it, once. False: it could not be done.
bool kill_group(const std::string& folder);
// Unset: cannot be told.
std::optional<bool> group_is_empty(const std::string& folder);

// All processes of one worker, as its supervisor sees them: to be killed and proved gone when the
// worker process has died.
//
// The supervisor must be a child subreaper: what a dead worker leaves behind becomes its child, and
// every child that is not a known worker is killed, again and again, until there is none. With
// control groups of version 2 the worker is started inside a group of its own as well, and killing
// that is one write. On the supervisor's thread, which is the only one to wait for children.

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

// The groups of one slot and the limits its tasks have there: memory, processor, processes.
//
// The runner enters them once, when it starts; its tasks are born inside. Limits are written only
// when they differ from those of the task before. What cannot be limited here runs without a limit
// and is said so. On the executor's thread.

struct SlotGroupConfig {
  GroupName name;
  std::uint32_t slot = 0;
  std::uint32_t processes_max = 0;  // 0: no limit
};

class SlotGroup {
 public:
  SlotGroup() = default;  // no groups at all
  SlotGroup(const CgroupRoots& roots, const SlotGroupConfig& config);

  // The files a process writes itself into to enter all of them.
  std::vector<Fd> entrances() const;

  // What could not be limited, for people; empty: all is as asked.
  std::string limit(const Resources& resources);
  // Before a kill: the runner is in here too and must not wait for its share.
  void lift_cpu();
  // How many processes were killed in here because memory ran out.
  std::uint64_t out_of_memory_count() const;

  // Kills what is inside, the runner too. False: there is no group to go by.
  bool kill_all() const;
  // Precondition: the runner is gone.
  void remove();

 private:
  enum class Version { kNone, kOne, kTwo };
  struct ControlFolder {
    Version version = Version::kNone;
    std::string folder;
  };
  void add(const std::string& folder);
  ControlFolder control_folder(const std::string& unified_file, const std::string& v1_folder) const;
  bool limit_memory(std::int64_t bytes);
  bool limit_cpu(std::int64_t milli);

  std::vector<std::string> folders_;
  std::string unified_;
  ControlFolder memory_;
  ControlFolder cpu_;
  std::int64_t memory_bytes_ = 0;  // as written last
  std::int64_t cpu_milli_ = 0;
};

}  // namespace vortex::worker
