#pragma once
// From an assignment to what the executor starts: the command, whose expressions
// the controller has resolved, and the environment a task finds. Pure but for
// the wall clock of the deadline, which is passed in.

#include <string>

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

}  // namespace vortex::worker
