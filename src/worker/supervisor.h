#pragma once
// Keeps the worker processes of one host at their number, and tells the controller the truth about
// those that died.
//
//   waiting --start--> running --end--> cleaning --nothing left--> waiting | over
//                                          |
//                                          +-- PROOF to the controller, on another thread
//
// How its processes began and ended goes through the controller into the monitor log (journal.h).
// It does nothing else that could fail: no HTTP, no tasks, no database on its thread. Nothing of a
// dead worker's tasks is alive when the proof goes out. SIGTERM and SIGINT are passed on, a second
// one as well; it returns when every worker has left.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/time.h"
#include "worker/options.h"

namespace vortex::worker {

// When a worker process that ended is started again, and when no more (CONTRACT M01, M07).
//
// Two limits: a process that never got as far as registering uses up the tries of a spawn; one that
// died in service uses up respawns. Both start anew once a process has proved well: it finished a
// task, or it was up for a while. Pure; one thread.

constexpr Duration kHealthyFor = seconds(60);

// How far a process got before it ended.
enum class WorkerStage : std::uint8_t {
  kNothing,  // it was never registered
  kReady,    // registered
  kProved,   // it has finished a task
};

class Respawn {
 public:
  explicit Respawn(const WorkerSettings& settings) : settings_(settings) {}

  // The wait before the next start; unset: it is given up.
  std::optional<Duration> after_end(WorkerStage reached, Duration was_up);

  std::uint32_t spawn_tries() const { return spawn_tries_; }
  std::uint32_t respawns() const { return respawns_; }

 private:
  Duration backoff(std::uint32_t failures) const;

  WorkerSettings settings_;
  std::uint32_t spawn_tries_ = 0;  // in a row without one that registered
  std::uint32_t respawns_ = 0;     // in a row without one that proved well
};

struct SupervisorOptions {
  WorkerOptions worker;
  std::string name;            // worker ids are NAME-1, NAME-2, ...
  bool name_is_given = false;  // false: another one may be used when it is taken
  std::uint32_t count = 1;
  std::string program;                 // this very program
  std::vector<std::string> arguments;  // with which a worker process is started, before our own
  OwnLog log;
};

// Returns the exit code: 0 all left as asked, 1 none could be kept alive. SIGTERM, SIGINT and
// SIGCHLD must be blocked by the caller, before any thread was started.
int run_supervisor(SupervisorOptions options);

}  // namespace vortex::worker
