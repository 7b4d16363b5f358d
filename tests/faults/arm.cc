// Part of `vortex` in builds for tests: arms what the environment asks for before main() begins.
//
// VORTEX_FAULT_POINT=after_commit@17 kills the process at a place of base/fault_point.h,
// VORTEX_FAULT_STORE=full@17 makes writes of the database fail (fault_vfs.h). A release is linked
// without this file.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/fault_point.h"
#include "tests/faults/fault_points.h"
#include "tests/faults/fault_vfs.h"

namespace vortex::faults {
namespace {

bool arm_by_environment() {
  knows_fault_variable = [](std::string_view name) { return name.starts_with("VORTEX_FAULT_"); };
  if (const char* text = std::getenv("VORTEX_FAULT_POINT")) arm_fault_point(text);
  if (const char* text = std::getenv("VORTEX_FAULT_STORE"); text != nullptr && *text != '\0') {
    const auto plan = parse_fault_plan(text);
    if (!plan) {
      static_cast<void>(std::fprintf(
          stderr, "VORTEX_FAULT_STORE is '%s': write full@N, io@N, full@N-M or io@N-\n", text));
      std::_Exit(2);
    }
    static FaultVfs& faults = *new FaultVfs(*plan, FaultVfs::For::kWholeProcess);  // to the end
    static_cast<void>(faults);
  }
  return true;
}

[[maybe_unused]] const bool armed = arm_by_environment();

}  // namespace
}  // namespace vortex::faults
