#pragma once
// Show the whole system on one screen, made of the answer of /api/status. Used by `status` and
// `top`. Pure functions.

#include <string>

#include <boost/json.hpp>

#include "cli/screen/terminal.h"

namespace vortex::cli {

std::string status_text(const boost::json::object& status, const Look& look);
std::string queues_text(const boost::json::object& status, const Look& look);

}  // namespace vortex::cli
