#pragma once
// How tasks are held: as another user, with limits, with a read-only file system, without a
// network.
//
// What is set is checked once, at the start of a worker, and refused with what to do; a runner then
// applies it without asking. Namespaces are the runner's, made once; user and limits are the
// task's, set just before its program is loaded. A task that changes its user can never gain
// privileges again; it may choose one that the operator listed, and no other. Killing does not
// depend on any of this: the runner stays what it is.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/settings.h"

namespace vortex::worker {

struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;
};

// One that tasks may choose, by the name that the operator listed.
struct AllowedUser {
  std::string as;
  TaskUser user;
  bool is_own = false;  // the worker's: nothing to change
};

struct Confinement {
  std::optional<TaskUser> user;      // of tasks that choose none; unset: the worker's
  std::vector<AllowedUser> allowed;  // sorted by `as`
  bool no_new_privileges = false;
  std::uint32_t processes_max = 0;   // 0: no limit of ours
  std::uint32_t open_files_max = 0;  // the same
  std::uint64_t core_bytes_max = 0;
  bool read_only_root = false;
  bool no_network = false;
  std::string writable;  // folder of the files of tasks
};

// Precondition: `work_dir` is absolute. Makes it, so that the tasks' user can pass through. The
// error is for people.
std::expected<Confinement, std::string> confinement_of(const WorkerSettings& settings,
                                                       const std::string& work_dir);

// The same as a runner gets it, with the writable folder behind it.
struct ConfineOrder {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t changes_user = 0;
  std::uint32_t no_new_privileges = 0;
  std::uint32_t open_files_max = 0;
  std::uint32_t processes_max = 0;
  std::uint64_t core_bytes_max = 0;
  std::uint32_t read_only_root = 0;
  std::uint32_t no_network = 0;
};
ConfineOrder order_of(const Confinement& confinement);
// Of a task that chose its user.
ConfineOrder order_of(const Confinement& confinement, const AllowedUser& chosen);
// Null: this worker does not allow it.
const AllowedUser* find_allowed(const Confinement& confinement, std::string_view user);

// In the runner: namespaces of its own for all that it starts. An errno; 0: done.
int enter_namespaces(const ConfineOrder& order, const char* writable);
// In the child that becomes the task: system calls only. An errno; 0: done.
int give_up_rights(const ConfineOrder& order);

}  // namespace vortex::worker
