#pragma once
// From an assignment to what the executor starts: the command with its
// expressions resolved, and the environment a task finds. Pure but for the wall
// clock of the deadline, which is passed in.

#include <expected>
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

// The error is a sentence for the user whose task it is.
std::expected<Launch, std::string> make_launch(const Assignment& assignment,
                                               const LaunchContext& context);

}  // namespace vortex::worker
