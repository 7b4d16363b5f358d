#pragma once
// Places in the product where a test may make the process die or fail on purpose.
//
// Armed once at start from a text such as `after_commit@17`: the 17th time that place is reached
// the process is killed as by kill -9. Only in builds with VX_FAULTS; in a release a place is
// nothing at all.

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace vortex {

#ifdef VX_FAULTS

// `name@count`; anything else leaves all places unarmed and gives false.
bool arm_fault_point(std::string_view text);

namespace detail {
extern std::atomic<bool> fault_points_armed;
void reach_fault_point(std::string_view name);
}  // namespace detail

inline void fault_point(std::string_view name) {
  if (detail::fault_points_armed.load(std::memory_order_relaxed)) detail::reach_fault_point(name);
}

// From the environment variable VORTEX_FAULT_POINT.
inline void arm_fault_points_by_environment() {
  if (const char* fault = std::getenv("VORTEX_FAULT_POINT")) arm_fault_point(fault);
}

#else

inline void fault_point(std::string_view) {}
inline void arm_fault_points_by_environment() {}

#endif

}  // namespace vortex
