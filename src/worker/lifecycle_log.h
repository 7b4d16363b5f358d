#pragma once
// What a supervisor adds to the monitor log: how worker processes were started and ended (CONTRACT
// M06). One JSON object a line, as the controller writes its own.
//
// The file is opened for every line: these are rare, and whoever rotates the file needs to tell
// nobody. Troubles with the file are not worth stopping for.

#include <string>
#include <vector>

#include "model/event.h"
#include "model/ids.h"

namespace vortex::worker {

class LifecycleLog {
 public:
  explicit LifecycleLog(std::string path) : path_(std::move(path)) {}  // empty: writes nothing

  void write(EventKind kind, const WorkerId& worker, std::vector<EventField> data) const;

 private:
  std::string path_;
};

}  // namespace vortex::worker
