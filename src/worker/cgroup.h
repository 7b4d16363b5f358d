#pragma once
// Control groups: where this process may make groups of its own, and how a group is emptied.
//
// Below the group this program was started in: vortex/<supervisor>/<worker>/, in it `agent` for the
// worker process and `slot-<n>` for the runner of each slot and its tasks. Works with version 2
// alone, with version 1, and with both at once; where nothing may be written everything here says
// no and the callers go by process trees alone. No thread of its own, no state but paths.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "worker/fd.h"

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

}  // namespace vortex::worker
