#pragma once
// One picture of `vortex top`, made of three answers. Pure.
// Fits the screen: what does not is counted in the last line.

#include <cstddef>
#include <string>

#include <boost/json.hpp>

#include "cli/color.h"

namespace vortex::cli {

struct TopSeen {
  boost::json::object status;
  boost::json::object runs;
  boost::json::object workers;
  std::string trouble;  // why the picture is old; empty: it is fresh
};

// Clears what stands there and draws, at most `rows` lines, none wider than the screen.
std::string top_frame(const TopSeen& seen, std::size_t rows, Look look);

}  // namespace vortex::cli
