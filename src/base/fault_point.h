#pragma once
// A place in the product where a test may make the process die on purpose (tests/faults).
//
// Only in builds with VX_FAULTS. In a release a place is nothing at all: no variable of the
// environment and no option can make it do anything.

#include <atomic>
#include <string_view>

namespace vortex {

#ifdef VX_FAULTS

// What happens at every place; set before any thread is started, if at all.
inline std::atomic<void (*)(std::string_view place)> on_fault_point{nullptr};

inline void fault_point(std::string_view place) {
  if (auto* hook = on_fault_point.load(std::memory_order_relaxed)) hook(place);
}

#else

inline void fault_point(std::string_view) {}

#endif

}  // namespace vortex
