#pragma once
// Where a worker process or a supervisor says what happens to itself, each line with its level.
// Nothing of the output of tasks. May be called on any thread; lines below the log level of the
// settings are dropped by whoever takes them.

#include <functional>
#include <string>

#include "base/settings.h"

namespace vortex::worker {

using OwnLog = std::function<void(LogLevel, const std::string&)>;

}  // namespace vortex::worker
