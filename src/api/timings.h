#pragma once
// From the settings in force: the worst case until a dead worker's task runs again.
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
    "Each time ends when another fitting worker with a free slot is given the task. The commit, "
    "the "
    "network and the start of the process come on top. While the brake is engaged, or just after "
    "an "
    "outage of the store or a change of leader, silence is not judged until one full lease has "
    "passed. Tasks marked exclusive wait for proof or silence.";

}  // namespace vortex::api
