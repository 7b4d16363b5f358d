#pragma once
// From an assignment to what the executor starts: the command, whose expressions
// the controller has resolved, and the environment a task finds. Pure but for
// the wall clock of the deadline, which is passed in.

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/sync.h"
#include "worker/executor.h"

namespace vortex::worker {

struct LaunchContext {
  std::string url;     // of a controller
  std::string worker;  // its id
  Instant wall_now;
};

Launch make_launch(const Assignment& assignment, const LaunchContext& context);

// What a task's first process is given, as its runner wants it: argv, environment and working
// directory in one block. Pure; refuses what no program can be given.

struct StartTexts {
  std::uint32_t argc = 0;
  std::uint32_t envc = 0;
  std::string payload;  // each text closed by a zero byte; the working directory is the last
};

using Variables = std::vector<std::pair<std::string, std::string>>;

struct StartParts {
  const std::vector<std::string>& argv;
  const std::string& workdir;
  const std::vector<std::string>& inherited;  // NAME=value
  const Variables& env;                       // on top of it; later ones win
  const Variables& ours;                      // on top of all
};
// The error is a sentence for people. `out` keeps its room from one task to the next.
std::expected<void, std::string> write_texts(const StartParts& parts, StartTexts& out);

}  // namespace vortex::worker
