#pragma once
// The yardstick: the fewest row writes that a task's life needs, in a plain loop over plain SQLite.
//
// A table as wide as ours with ordinary columns and the same three indexes, written with a log and
// full sync: N tasks are inserted, claimed and completed in sets of so many per transaction. What a
// store adds (attempts, events, fencing) is measured against this.

#include <cstdint>
#include <string>

#include "base/time.h"
#include "store/error.h"

namespace vortex::store {

struct BareResult {
  std::uint64_t tasks = 0;
  Duration took;
  Duration cpu;  // of this process, meanwhile
  std::uint64_t file_bytes = 0;
  double tasks_per_second() const {
    return took.us <= 0 ? 0 : static_cast<double>(tasks) * 1e6 / static_cast<double>(took.us);
  }
};

// `path` must not exist; the file stays there. Set sizes that do not divide `tasks` are fine.
Result<BareResult> run_bare_loop(const std::string& path, std::uint64_t tasks,
                                 std::uint32_t set_size);

}  // namespace vortex::store
