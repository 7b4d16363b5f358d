#pragma once
// The log of long-running commands: lines with a time on stderr, for people and service managers.
// One per process; what commands say to their user goes through cli/context.h.

#include <functional>
#include <memory>
#include <string>

#include <spdlog/logger.h>

#include "base/settings.h"

namespace vortex::cli {

// `who` stands in every line; empty: nothing does.
std::shared_ptr<spdlog::logger> make_logger(LogLevel level, const std::string& who = {});

// Takes lines of all levels; the logger drops those below its own.
std::function<void(LogLevel, const std::string&)> lines_to(std::shared_ptr<spdlog::logger> logger);

}  // namespace vortex::cli
