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

// Whether a variable of the environment is for the faults; set like the hook above.
inline std::atomic<bool (*)(std::string_view name)> knows_fault_variable{nullptr};

inline bool is_fault_variable(std::string_view name) {
  auto* knows = knows_fault_variable.load(std::memory_order_relaxed);
  return knows != nullptr && knows(name);
}

#else

inline void fault_point(std::string_view) {}
inline bool is_fault_variable(std::string_view) { return false; }

#endif

}  // namespace vortex
