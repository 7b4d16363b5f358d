#pragma once
// How a task ended or why it did not start, in words for the person whose task it is.
//
// Pure functions; a program and a folder are quoted as they were given, and cut when very long.

#include <string>
#include <string_view>

#include "model/sync.h"
#include "worker/runner_messages.h"

namespace vortex::worker {

struct StartFault {
  StartStep step = StartStep::kPrepare;
  int error = 0;
  std::string_view program;
  std::string_view workdir;
};
std::string could_not_start_text(const StartFault& fault);

// "killed by signal 9 (KILL)"
std::string signal_text(int signal);
// "512 MiB", or bytes when it is no round number of a unit.
std::string size_text(std::int64_t bytes);

// Of a wait status that is not exit code 0.
Failed failure_of(int wait_status);
Failed out_of_memory(int wait_status, std::int64_t limit_bytes);

}  // namespace vortex::worker
