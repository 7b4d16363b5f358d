#pragma once
// The folder in which a supervisor keeps what has to be cleaned up after it, and the cleaning up.
//
// <state_dir>/<name>/ holds a lock that its supervisor holds as long as it lives, the list of its
// control groups, and one record of processes for each worker (slot_record.h). A folder whose lock
// is free belongs to a supervisor that was killed: its groups and processes are killed, the workers
// before their runners (or they would report what was done to their tasks), then the folder is
// removed. Nothing is killed that cannot be shown to be its own: other start of the
// machine, other start time, other environment. Without control groups, a process that left its
// session, cleared its environment and lost its runner, its worker and its supervisor at once is
// not found. Blocks; for a supervisor's start.

#include <expected>
#include <functional>
#include <string>

#include "base/time.h"
#include "worker/cgroup.h"
#include "worker/files.h"

namespace vortex::worker {

class SupervisorFolder {
 public:
  struct Config {
    std::string state_dir;
    std::string name;
    Containment containment = Containment::kAuto;
  };
  // Takes the lock, after cleaning up behind an earlier supervisor of this name. The error is for
  // people: another one of this name lives, or the folder cannot be written.
  static std::expected<SupervisorFolder, std::string> open(const Config& config);

  const std::string& path() const { return path_; }
  // Where the worker with this id keeps its record.
  std::string record_path(const std::string& worker) const;
  // At an orderly end, when nothing is left: removes the folder.
  void remove();

 private:
  SupervisorFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Fd lock_;
};

struct LeftoverReport {
  std::size_t folders = 0;    // of dead supervisors, cleaned up
  std::size_t processes = 0;  // killed one by one; those in control groups are not counted
  std::size_t left = 0;       // folders that could not be emptied within the limit
};
// Cleans up behind every dead supervisor below `state_dir`. Living ones are not touched.
LeftoverReport kill_leftovers(const std::string& state_dir, Duration limit = seconds(5));

}  // namespace vortex::worker
