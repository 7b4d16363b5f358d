#pragma once
// When a worker process that ended is started again, and when no more (CONTRACT M01, M07).
//
// Two limits: a process that never got as far as registering uses up the tries of a spawn; one that
// died in service uses up respawns. Both start anew once a process has proved well: it finished a
// task, or it was up for a while. Pure; one thread.

#include <cstdint>
#include <optional>

#include "base/settings.h"
#include "base/time.h"

namespace vortex::worker {

constexpr Duration kHealthyFor = seconds(60);

// How far a process got before it ended.
enum class Reached : std::uint8_t {
  kNothing,  // it was never registered
  kReady,    // registered
  kProved,   // it has finished a task
};

class Respawn {
 public:
  explicit Respawn(const WorkerSettings& settings) : settings_(settings) {}

  // The wait before the next start; unset: it is given up.
  std::optional<Duration> after_end(Reached reached, Duration was_up);

  std::uint32_t spawn_tries() const { return spawn_tries_; }
  std::uint32_t respawns() const { return respawns_; }

 private:
  Duration backoff(std::uint32_t failures) const;

  WorkerSettings settings_;
  std::uint32_t spawn_tries_ = 0;  // in a row without one that registered
  std::uint32_t respawns_ = 0;     // in a row without one that proved well
};

}  // namespace vortex::worker
