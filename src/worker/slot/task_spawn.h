#pragma once
// Starts the first process of a task, from inside a runner: one clone that shares memory until the
// program is loaded (the cost of vfork), and an exact reason when it could not be loaded.
//
// The task finds: a session and process group of its own, /dev/null as stdin (the runner's own),
// one pipe as stdout and stderr, no other descriptor, all signals at their defaults and unblocked,
// and death by KILL when the runner dies. With a root of its own, working directory and program are
// looked for in there. Precondition: every other descriptor of the caller is
// closed on exec, every signal is blocked, none is ignored, and there is one thread.

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "worker/slot/confinement.h"
#include "worker/slot/runner_messages.h"

namespace vortex::worker {

struct SpawnOrder {
  std::vector<char*> argv;   // closed by a null pointer; the program is argv[0]
  std::vector<char*> env;    // the same
  const char* workdir = "";  // empty: where the caller is, or the root below
  int root = -1;             // folder that becomes its root; -1: the caller's
  int output = -1;
  int nice = 0;                           // of the task; the runner's own may be more urgent
  const ConfineOrder* confine = nullptr;  // null: it has all the rights of the caller
  // Where the process stores its id before it becomes the task; null: nowhere.
  std::int32_t* note = nullptr;
};

struct Spawned {
  pid_t pid = -1;  // -1: not started
  int error = 0;
  StartStep step = StartStep::kPrepare;
};

class TaskSpawner {
 public:
  Spawned spawn(const SpawnOrder& order);

 private:
  void find_candidates(const SpawnOrder& order);

  // Kept between tasks: nothing is allocated once they have grown.
  std::string texts_;
  std::vector<std::size_t> starts_;
  std::vector<const char*> candidates_;
  std::vector<char> stack_ = std::vector<char>(64 * 1024);
};

}  // namespace vortex::worker
