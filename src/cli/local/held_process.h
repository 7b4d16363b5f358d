#pragma once
// A command that may run only while a lease is held, with its whole process group.
//
// A guard, a tiny process beside it, kills the group at the deadline that was set last, or as soon
// as this program is gone: so the promise holds even when this program is killed or frozen. When
// the command ends, the rest of its group is killed. Not thread-safe; deadlines are times of the
// boot clock.

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"

namespace vortex::cli {

class HeldProcess {
 public:
  struct StartError {
    int exit_code = 126;  // 127: there is no such command
    std::string what;
  };
  struct Setup {
    std::vector<std::string> command;
    std::vector<std::string> environment;  // NAME=value, before our own
    Instant deadline;
  };
  static std::expected<HeldProcess, StartError> start(const Setup& setup);
  ~HeldProcess();
  HeldProcess(HeldProcess&& other) noexcept;
  HeldProcess& operator=(HeldProcess&&) = delete;
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  // From now on the guard kills at this time and not before.
  void extend(Instant deadline);
  void signal(int number) const;  // to the whole group
  // Its exit code, 128 + signal; unset while it runs. The first time, kills what is left of the
  // group and dismisses the guard.
  std::optional<int> ended();

 private:
  HeldProcess() = default;
  void tell_guard(pid_t group, Instant deadline) const;

  pid_t pid_ = -1;
  pid_t guard_ = -1;
  int guard_pipe_ = -1;
  bool gave_terminal_ = false;  // the command is in front at our terminal
  std::optional<int> exit_code_;
};

}  // namespace vortex::cli
