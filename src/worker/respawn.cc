#include "worker/respawn.h"

#include <algorithm>

namespace vortex::worker {

std::optional<Duration> Respawn::after_end(Reached reached, Duration was_up) {
  if (reached == Reached::kNothing && was_up < kHealthyFor) {
    if (++spawn_tries_ >= settings_.spawn_retry_attempts) return std::nullopt;
    return backoff(spawn_tries_);
  }
  spawn_tries_ = 0;
  if (reached == Reached::kProved || was_up >= kHealthyFor) respawns_ = 0;
  if (!settings_.auto_respawn || respawns_ >= settings_.max_respawn_attempts) return std::nullopt;
  // The first one comes back at once: most deaths are an accident.
  return backoff(respawns_++);
}

Duration Respawn::backoff(std::uint32_t failures) const {
  if (failures == 0) return {};
  const Duration base = settings_.spawn_backoff_base;
  Duration wait = base;
  switch (settings_.spawn_backoff_strategy) {
    case SpawnBackoff::kFixed:
      break;
    case SpawnBackoff::kLinear:
      wait = base * failures;
      break;
    case SpawnBackoff::kExponential:
      wait = base * (std::int64_t{1} << std::min(failures - 1, 20U));
      break;
  }
  return std::min(wait, settings_.spawn_backoff_max);
}

}  // namespace vortex::worker
