#pragma once
// A worker process of its own, to be killed: two slots, each with one shell script, their output in
// a file. Killed and waited for when the object goes; what it leaves behind is the test's subject.

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/worker/executing.h"
#include "worker/cgroup.h"

namespace vortex::worker {

// Forks twice, into a session of its own, with nothing in its environment; says its id.
inline constexpr const char* kHiddenGrandchild =
    "env -i setsid /bin/sh -c '/bin/sh -c \"echo \\$\\$; exec sleep 1000\" & exit 0'; ";

class OtherWorker {
 public:
  // `state_dir` may be "-": no record is kept.
  OtherWorker(Containment containment, const std::string& state_dir, const std::string& script);
  ~OtherWorker() { kill(); }
  OtherWorker(const OtherWorker&) = delete;
  OtherWorker& operator=(const OtherWorker&) = delete;

  // The ids that were said so far, once there are so many: of the runners and what scripts echo.
  struct Ids {
    std::vector<pid_t> runners;
    std::vector<pid_t> others;
    std::vector<pid_t> all() const;
  };
  Ids processes(std::size_t count);
  void kill();

 private:
  TempFolder folder_;
  std::string output_;
  pid_t pid_ = -1;
};

}  // namespace vortex::worker
