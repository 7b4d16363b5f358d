#pragma once
// Kills and freezes leaders and restarts the database, on a throw-away cluster of real controllers
// over a PostgreSQL of its own, and measures how long others could do nothing: until the next
// command is acknowledged, and until its task runs.
//
// Everything that was acknowledged must have run exactly once at the end, and tasks that were
// running must not have been restarted.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"

namespace vortex::cli::drill {

enum class Blow : std::uint8_t {
  kLeaderKilled,     // SIGKILL
  kLeaderFrozen,     // SIGSTOP, and SIGCONT once another one leads
  kDatabaseRestart,  // an immediate stop, as in a crash, and a start
};

struct FailoverConfig {
  std::vector<std::string> settings;  // --section.key=value
  std::uint32_t controllers = 3;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct FailoverOutcome {
  Blow blow = Blow::kLeaderKilled;
  std::uint32_t blows = 0;
  std::vector<Duration> commands;  // from each blow until the next submit was acknowledged
  std::vector<Duration> starts;    // and until its task ran
  std::uint32_t lost = 0;          // acknowledged, and did not complete
  std::uint32_t doubled = 0;       // ran more than once
  std::uint32_t restarted = 0;     // was running, and was started again
};

std::expected<FailoverOutcome, std::string> run_failovers(Blow blow, std::uint32_t blows,
                                                          const FailoverConfig& config);

}  // namespace vortex::cli::drill
