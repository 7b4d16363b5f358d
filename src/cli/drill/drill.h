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
#include <string>
#include <vector>

#include "base/time.h"

namespace vortex::cli::drill {

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
