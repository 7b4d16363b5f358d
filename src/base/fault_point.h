#pragma once
// Places in the product where a test may make the process die or fail on purpose.
//
// Armed once at start from a text such as `after_commit@17`: the 17th time that place is reached
// the process is killed as by kill -9. Not armed, a place costs one look at a flag.

#include <atomic>
#include <string_view>

namespace vortex {

// `name@count`; anything else leaves all places unarmed and gives false.
bool arm_fault_point(std::string_view text);

namespace detail {
extern std::atomic<bool> fault_points_armed;
void reach_fault_point(std::string_view name);
}  // namespace detail

inline void fault_point(std::string_view name) {
  if (detail::fault_points_armed.load(std::memory_order_relaxed)) detail::reach_fault_point(name);
}

}  // namespace vortex
