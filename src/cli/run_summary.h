#pragma once
// What is said when a run has ended: how, how long it took, and for failed tasks why.
// Reads from the controller; the text is for people.

#include <string>

#include <boost/json.hpp>

#include "cli/api_client.h"
#include "cli/color.h"
#include "model/plan.h"

namespace vortex::cli {

// "✗ run r42 of nightly failed after 3m05s: 497 completed, 3 failed", and for a few of the failed
// ones verdict, last lines, and the command that shows more.
std::string run_summary(ApiClient& api, const boost::json::object& run, const DagPlan& plan,
                        const Look& look);
// "exit code 3 on w1, attempt 2 of 3".
std::string verdict_text(const boost::json::object& attempt);

}  // namespace vortex::cli
