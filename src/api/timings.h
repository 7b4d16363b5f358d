#pragma once
// Show the worst-case recovery times with the current settings.
//
// One entry per kind of evidence, with the formula in the names of settings. Pure arithmetic; the
// same rules as in core/evidence.cc and core/report.cc.

#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/time.h"

namespace vortex::api {

struct Timing {
  std::string_view evidence;
  std::string_view what;
  std::string_view formula;
  Duration worst;
};

std::vector<Timing> timings(const Settings& settings);

inline constexpr std::string_view kTimingsNote =
    "Each time ends when the task is assigned to another matching worker with a free slot. The "
    "commit, the network and the start of the process add to it. While the brake is engaged, or "
    "just after a store outage or a leader change, silence does not count until one full lease has "
    "passed. Exclusive tasks wait for proof or silence.";

}  // namespace vortex::api
