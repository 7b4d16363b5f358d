#pragma once
// Kills workers on purpose, on a throw-away cluster of real processes, and
// measures how long their work was away: from the kill until the task's process
// runs again somewhere else.
//
// One kind of evidence at a time, because each has its own promise: a
// supervisor's proof, the hint of a closed and refused connection, and silence.

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"

namespace vortex::cli::drill {

// The tasks a drill watches: each writes a line when it starts, with its
// process, its worker and whether the process of its earlier attempt was still
// alive at that moment.
//
// Read from files, not from the controller: what counts is when the work really
// ran again.

struct TaskStart {
  std::uint64_t epoch = 0;
  pid_t pid = 0;
  pid_t worker_pid = 0;
  Instant at;               // wall clock
  bool overlapped = false;  // an earlier process of the task was alive
  std::string worker;
};

// What a task's script begins with to write its line into $STARTS/<task id>. The time is taken
// first: what follows is bookkeeping and not part of the recovery.
extern const char* const kStartLine;

// What victims do after their line: they never end by themselves.
inline constexpr const char* kThenForEver = "exec sleep 100000\n";

// The DAG of the victims, in canonical JSON.
std::string victims_dag(const std::string& folder, std::uint32_t tasks,
                        const std::string& then = kThenForEver);

class Victims {
 public:
  Victims(std::string folder, std::string run, std::uint32_t tasks);

  std::uint32_t tasks() const { return tasks_; }
  // The newest start; unset: it has not started yet.
  std::optional<TaskStart> newest(std::uint32_t task) const;
  std::vector<TaskStart> starts(std::uint32_t task) const;
  // Returns once the task runs with a later epoch than this; unset: not within
  // the limit.
  std::optional<TaskStart> wait_for_later(std::uint32_t task, std::uint64_t epoch,
                                          Duration limit) const;

 private:
  std::string folder_;
  std::string run_;
  std::uint32_t tasks_;
};

enum class Kind : std::uint8_t {
  kWorker,  // the worker process: its supervisor proves the death
  kHost,    // supervisor and worker: nobody is left to tell
  kFreeze,  // SIGSTOP: alive, and silent
};

struct DrillConfig {
  std::vector<std::string> settings;  // --section.key=value
  std::uint32_t workers = 4;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct Outcome {
  Kind kind = Kind::kWorker;
  std::uint32_t kills = 0;
  std::vector<Duration> recoveries;  // of every task that ran on what was killed
  std::uint32_t overlaps = 0;        // an old process was alive when the new one started
  std::uint32_t lost = 0;            // did not run again within the limit
};

std::expected<Outcome, std::string> run_drill(Kind kind, std::uint32_t kills,
                                              const DrillConfig& config);

}  // namespace vortex::cli::drill
