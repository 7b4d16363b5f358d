#include "tests/worker/other_worker.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

namespace vortex::worker {

OtherWorker::OtherWorker(Containment containment, const std::string& state_dir,
                         const std::string& script)
    : output_(folder_.path() + "/output") {
  const std::string work = folder_.path() + "/work";
  const char* mode = containment == Containment::kAuto ? "auto" : "tree";
  std::fflush(stdout);  // else the child says it again
  pid_ = ::fork();
  if (pid_ != 0) return;
  if (std::freopen(output_.c_str(), "w", stdout) == nullptr) ::_exit(1);
  ::execl(VX_TEST_WORKER, VX_TEST_WORKER, VX_TEST_RUNNER, work.c_str(), state_dir.c_str(), mode,
          "2", "/bin/sh", "-c", script.c_str(), nullptr);
  ::_exit(1);
}

OtherWorker::Ids OtherWorker::processes(std::size_t count) {
  const Instant until = boot_clock_now() + seconds(20);
  for (;;) {
    Ids ids;
    std::ifstream file(output_);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("runner ")) {
        ids.runners.push_back(std::atoi(line.c_str() + 7));
      } else {
        ids.others.push_back(std::atoi(line.c_str()));
      }
    }
    if (ids.runners.size() + ids.others.size() >= count || boot_clock_now() > until) return ids;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<pid_t> OtherWorker::Ids::all() const {
  std::vector<pid_t> pids = runners;
  pids.insert(pids.end(), others.begin(), others.end());
  return pids;
}

void OtherWorker::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace vortex::worker
