#pragma once
// The folder in which a supervisor keeps what has to be cleaned up after it, and the cleaning up.
//
// <state_dir>/<name>/ holds a lock that its supervisor holds as long as it lives, the list of its
// control groups, and one record of processes for each worker (slot_record.h). A folder whose lock
// is free belongs to a supervisor that was killed: its groups and processes are killed, the workers
// before their runners (or they would report what was done to their tasks), then the folder is
// removed. Nothing is killed that cannot be shown to be its own: other start of the
// machine, other start time, other environment, other life of a supervisor of that name. Folders
// and files that somebody else can have written are not believed (own_folder.h). Without control
// groups, a process that left its session, cleared its environment and lost its runner, its worker
// and its supervisor at once is not found. Blocks; for a supervisor's start.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/sync.h"
#include "worker/cgroup.h"
#include "worker/files.h"

namespace vortex::worker {

// A worker that was left behind and of which nothing is left now.
struct EndedWorker {
  WorkerId id;
  std::vector<Incarnation> lives;
  std::string session;  // the secret of the newest of them that is known
  std::vector<Attempt> started;
};

class SupervisorFolder {
 public:
  struct Config {
    std::string state_dir;
    std::string name;
    Containment containment = Containment::kAuto;
  };
  // Another one of this name lives, or the folder cannot be used.
  struct Refusal {
    enum class Why : std::uint8_t { kNameIsTaken, kUnusable };
    Why why = Why::kUnusable;
    std::string text;  // for people
  };
  // Takes the lock, after cleaning up behind an earlier supervisor of this name.
  static std::expected<SupervisorFolder, Refusal> open(const Config& config);

  const std::string& path() const { return path_; }
  // Of this supervisor and no other, also of the same name: part of the names of its control groups
  // and of the folders of its workers.
  const std::string& life() const { return life_; }
  // Where the worker with this id keeps its record.
  std::string record_path(const std::string& worker) const;
  // Workers of an earlier supervisor of this name that were cleaned up after.
  const std::vector<EndedWorker>& ended() const { return ended_; }
  // At an orderly end, when nothing is left: removes the folder.
  void remove();

 private:
  SupervisorFolder(std::string path, std::string life, Fd lock)
      : path_(std::move(path)), life_(std::move(life)), lock_(std::move(lock)) {}
  std::string path_;
  std::string life_;
  Fd lock_;
  std::vector<EndedWorker> ended_;
};

struct LeftoverReport {
  std::size_t folders = 0;    // of dead supervisors, cleaned up
  std::size_t processes = 0;  // killed one by one; those in control groups are not counted
  std::size_t left = 0;       // folders that could not be emptied within the limit
  std::string refused = {};   // why a folder was not believed; the last of them
  std::vector<EndedWorker> ended = {};
};
// Cleans up behind every dead supervisor below `state_dir`. Living ones are not touched.
LeftoverReport kill_leftovers(const std::string& state_dir, Duration limit = seconds(5));

}  // namespace vortex::worker
