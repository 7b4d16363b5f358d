#pragma once
// Arms one of the places of base/fault_point.h: the n-th time it is reached the process is killed
// as by kill -9. Any thread; armed once, before threads are started.

#include <string_view>

namespace vortex::faults {

// `name@count`, such as `after_commit@17`; anything else leaves all places unarmed and gives false.
bool arm_fault_point(std::string_view text);

}  // namespace vortex::faults
