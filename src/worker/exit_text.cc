#include "worker/exit_text.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/wait.h>

namespace vortex::worker {
namespace {

constexpr std::size_t kQuotedMax = 200;

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kQuotedMax;
  return fmt::format("'{}{}'", text.substr(0, kQuotedMax), cut ? "..." : "");
}

std::string system_text(int error) { return std::strerror(error); }

std::string workdir_text(const StartFault& fault) {
  switch (fault.error) {
    case ENOENT:
      return fmt::format("no such working directory: {}", quoted(fault.workdir));
    case ENOTDIR:
      return fmt::format("the working directory {} is not a directory", quoted(fault.workdir));
    case EACCES:
      return fmt::format("no permission to enter the working directory {}", quoted(fault.workdir));
    default:
      return fmt::format("cannot enter the working directory {}: {}", quoted(fault.workdir),
                         system_text(fault.error));
  }
}

std::string program_text(const StartFault& fault) {
  const std::string program = quoted(fault.program);
  switch (fault.error) {
    case ENOENT:
      if (fault.program.empty()) return "the command has no program";
      if (!fault.program.contains('/')) {
        return fmt::format("program {} not found in PATH", program);
      }
      return fmt::format("program {} or its interpreter not found", program);
    case EACCES:
      return fmt::format("program {} is not executable", program);
    case ENOEXEC:
      return fmt::format("{} is not a program: it is not a binary and has no #! line", program);
    case E2BIG:
      return fmt::format("the arguments and environment of {} are too long", program);
    default:
      return fmt::format("cannot start program {}: {}", program, system_text(fault.error));
  }
}

}  // namespace

std::string could_not_start_text(const StartFault& fault) {
  switch (fault.step) {
    case StartStep::kWorkdir:
      return workdir_text(fault);
    case StartStep::kProgram:
      return program_text(fault);
    case StartStep::kPrepare:
      break;
  }
  return fmt::format("cannot create a process for program {}: {}", quoted(fault.program),
                     system_text(fault.error));
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("killed by signal {}", signal)
                         : fmt::format("killed by signal {} ({})", signal, name);
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kUnit = 1024;
  constexpr const char* kNames[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kNames) && bytes >= kUnit && bytes % kUnit == 0) {
    bytes /= kUnit;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kNames[unit]);
}

Failed failure_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return {Failed::Cause::kSignal, signal, signal_text(signal)};
  }
  const int code = WEXITSTATUS(wait_status);
  return {Failed::Cause::kExitCode, code, fmt::format("exit code {}", code)};
}

Failed out_of_memory(int wait_status, std::int64_t limit_bytes) {
  const int code = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return {Failed::Cause::kOutOfMemory, code,
          fmt::format("out of memory: the limit was {}", size_text(limit_bytes))};
}

}  // namespace vortex::worker
