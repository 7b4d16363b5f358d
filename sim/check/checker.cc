#include "sim/check/checker.h"

#include "sim/check/say.h"

namespace vortex::sim {

void Findings::add(std::string_view invariant, std::string_view detail) {
  all_.push_back({std::string(invariant), fmt::format("at {}: {}", say(now_), detail)});
}

}  // namespace vortex::sim
