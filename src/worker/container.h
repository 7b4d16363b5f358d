#pragma once
// The container of one worker process, seen from inside: its mounts, its /proc, its host name and,
// if there is one, the root that its tasks have.
//
// spawn_worker.h makes the process in namespaces of its own; the process calls enter_container()
// before it has threads. Everything is mounted upon /proc, which has been made private: so nothing
// shows outside, not even from within a chroot, whose own mount cannot be made private. The worker
// stays in the file system of the machine; only its tasks are put into the root (task_spawn.h).
// This keeps tasks apart from the machine by accident, not against malice.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "worker/fd.h"

namespace vortex::worker {

struct ContainerPlan {
  std::string worker;    // its id; names the host
  std::string root;      // absolute; empty: tasks have the root of the machine
  std::string work_dir;  // absolute; made, and found at the same path in the root
};

// The folder that tasks have as their root; none if the plan has none. The error is for people.
// Precondition: the caller is the first process of its process space.
std::expected<Fd, std::string> enter_container(const ContainerPlan& plan);

// A worker's id, as far as it fits.
std::string container_host_name(std::string_view worker);

// Where something is mounted, from the text of /proc/self/mountinfo.
std::vector<std::string> mount_points(std::string_view mounts);

}  // namespace vortex::worker
