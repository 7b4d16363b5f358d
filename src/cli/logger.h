#pragma once
// The log of long-running commands: lines with a time on stderr, for people and service managers.
// One per process; what commands say to their user goes through cli/context.h.

#include <csignal>
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

// SIGTERM and SIGINT as things to be waited for, for commands that run until they are told to stop.
// To be called before any thread is started: threads inherit what is blocked.

// The set that was blocked, for sigwait and sigtimedwait.
sigset_t block_stop_signals();

}  // namespace vortex::cli
