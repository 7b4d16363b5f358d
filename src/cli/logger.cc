#include "cli/logger.h"

#include <utility>

#include <pthread.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "cli/screen/terminal.h"

namespace vortex::cli {

std::shared_ptr<spdlog::logger> make_logger(LogLevel level, const std::string& who) {
  auto logger = spdlog::stderr_logger_mt("vortex");
  const std::string name = who.empty() ? "" : " " + who + ":";
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %l" + name + " %v", spdlog::pattern_time_type::utc);
  logger->set_level(static_cast<spdlog::level::level_enum>(level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::function<void(LogLevel, const std::string&)> lines_to(std::shared_ptr<spdlog::logger> logger) {
  return [logger = std::move(logger)](LogLevel level, const std::string& line) {
    // What others have sent may be in it.
    const bool seen = is_terminal(STDERR_FILENO);
    logger->log(static_cast<spdlog::level::level_enum>(level), seen ? for_terminal(line) : line);
  };
}

sigset_t block_stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

}  // namespace vortex::cli
