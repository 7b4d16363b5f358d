#pragma once
// Starts one worker process of a supervisor: in a process group of its own, so that Ctrl-C on the
// terminal reaches the supervisor alone, and inside its group, so that nothing of it can get away.
//
// With the launcher `container` it is the first process of namespaces of its own: processes,
// mounts, IPC and host name (spawn_worker.h does the rest, inside). Its end, as seen by waitpid,
// then is the end of all that was in there: the kernel sees to it. Where these namespaces may not
// be made, they are made in a user namespace with the same user.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/settings.h"
#include "model/ids.h"
#include "worker/cgroup.h"
#include "worker/files.h"

namespace vortex::worker {

constexpr int kCouldNotExec = 127;  // exit code: the program could not be started at all

// What a worker process writes to its supervisor.
constexpr char kNewsReady = 'r';   // registered
constexpr char kNewsProved = 'p';  // finished its first task
// Begins the last words of one that cannot work: why, up to the end of the line.
constexpr char kNewsTrouble = '!';

struct SpawnRequest {
  std::string program;
  std::vector<std::string> arguments;
  WorkerId id;
  Incarnation incarnation;
  std::string record_path;  // see slot_record.h
  std::string supervisor;   // its name
  std::string life;         // of the supervisor
  Launcher launcher = Launcher::kSubprocess;
  std::string machine;  // the name of the host, which a container does not know
};

struct WorkerChild {
  pid_t pid = -1;
  Fd news;  // ends with the process
};

std::expected<WorkerChild, std::string> spawn_worker(const SpawnRequest& request,
                                                     const WorkerGroup& group);

// Makes one and lets it end at once. Empty: workers can have containers here.
std::string why_no_container();
inline constexpr std::string_view kContainerHelp =
    "run the supervisor as root (in docker: with SYS_ADMIN), or allow user namespaces (sysctl "
    "user.max_user_namespaces, kernel.unprivileged_userns_clone; never in a chroot), or use "
    "--launcher subprocess";

// The container of one worker process, seen from inside: its mounts, its /proc, its host name and,
// if there is one, the root that its tasks have.
//
// spawn_worker.h makes the process in namespaces of its own; the process calls enter_container()
// before it has threads. Everything is mounted upon /proc, which has been made private: so nothing
// shows outside, not even from within a chroot, whose own mount cannot be made private. The worker
// stays in the file system of the machine; only its tasks are put into the root (task_spawn.h).
// This keeps tasks apart from the machine by accident, not against malice.

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
