#pragma once
// Where the output of tasks goes while they run. Nothing here may block or fail: output that can
// not be kept is left out, and a task never waits for whoever reads it.
// All calls are made on the executor's thread.

#include <functional>
#include <string_view>

#include "model/sync.h"

namespace vortex::worker {

class LogSink {
 public:
  LogSink() = default;
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  virtual ~LogSink() = default;

  virtual void write(Attempt attempt, std::string_view bytes) = 0;
  // No more will come. `flushed` is called once, when all has arrived or was given up.
  virtual void close(Attempt attempt, std::function<void()> flushed) = 0;
};

}  // namespace vortex::worker
