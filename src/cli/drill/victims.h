#pragma once
// The tasks a drill watches: each writes a line when it starts, with its
// process, its worker and whether the process of its earlier attempt was still
// alive at that moment.
//
// Read from files, not from the controller: what counts is when the work really
// ran again.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"

namespace vortex::cli::drill {

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

// The DAG of the victims, in canonical JSON.
std::string victims_dag(const std::string& folder, std::uint32_t tasks);

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

}  // namespace vortex::cli::drill
