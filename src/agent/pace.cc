#include "agent/pace.h"

#include <algorithm>

#include "model/sync.h"

namespace vortex::agent {

void Pace::ended(Duration ran) {
  // A single long one must not be forgotten after the next short one, nor weigh for ever.
  const Duration counted = std::clamp(ran, micros(1), kUnproved);
  mean_ = (mean_ * 3 + counted) / 4;
}

std::uint32_t Pace::ahead() const {
  const std::int64_t per_slot = kAheadFor.us / std::max<std::int64_t>(mean_.us, 1);
  return slots_ * static_cast<std::uint32_t>(std::min<std::int64_t>(per_slot, kAheadPerSlotMax));
}

}  // namespace vortex::agent
