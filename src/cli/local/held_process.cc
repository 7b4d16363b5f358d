#include "cli/local/held_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/local/process.h"

namespace vortex::cli {
namespace {

constexpr int kGuardLookMs = 100;  // a suspended machine stands still for poll, not for the lease
constexpr int kNotFound = 127;

struct GuardOrder {
  pid_t group = 0;  // 0: nothing is left to guard
  std::int64_t deadline_us = 0;
};

// After a fork: only what a signal handler might do as well.
[[noreturn]] void guard(int orders) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  constexpr int kKept = 3;
  if (orders != kKept) ::dup2(orders, kKept);
  ::close_range(0, kKept - 1, 0);
  ::close_range(kKept + 1, ~0U, 0);
  GuardOrder order;
  for (;;) {
    pollfd ready{kKept, POLLIN, 0};
    const bool late = order.group > 0 && boot_clock_now().us >= order.deadline_us;
    if (!late && ::poll(&ready, 1, kGuardLookMs) <= 0) continue;
    GuardOrder next;
    const bool told = !late && ::read(kKept, &next, sizeof next) == sizeof next;
    if (!told && order.group > 0) ::kill(-order.group, SIGKILL);
    if (!told || next.group == 0) ::_exit(0);
    order = next;
  }
}

struct HeldPrepared {
  ExecTexts& texts;
  std::array<int, 2> go;  // a byte comes when the guard knows this process
  int failed;             // errno of exec
  int guard_pipe;         // not for this process: the guard waits for its end
  bool in_front;          // gets the terminal
};

[[noreturn]] void become_held(const HeldPrepared& prepared) {
  begin_child();
  ::signal(SIGPIPE, SIG_DFL);
  ::close(prepared.guard_pipe);
  ::close(prepared.go[1]);
  char byte = 0;
  if (::read(prepared.go[0], &byte, 1) != 1) ::_exit(kNotFound);
  if (prepared.in_front) {
    ::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(STDIN_FILENO, ::getpid());
    ::signal(SIGTTOU, SIG_DFL);
  }
  ::execvpe(prepared.texts.argv()[0], prepared.texts.argv(), prepared.texts.environment());
  const int why = errno;
  static_cast<void>(!::write(prepared.failed, &why, sizeof why));
  ::_exit(kNotFound);
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  static_cast<void>(!::pipe2(ends.data(), O_CLOEXEC));
  return ends;
}

void close_both(const std::array<int, 2>& ends) {
  ::close(ends[0]);
  ::close(ends[1]);
}

void reap(pid_t pid, int* status) {
  while (::waitpid(pid, status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::expected<HeldProcess, HeldProcess::StartError> HeldProcess::start(const Setup& setup) {
  ExecTexts texts(setup.command, setup.environment);
  const auto orders = make_pipe();
  const auto go = make_pipe();
  const auto failed = make_pipe();
  HeldProcess process;
  process.gave_terminal_ = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  process.guard_pipe_ = orders[1];
  process.guard_ = failed[1] < 0 ? -1 : ::fork();
  if (process.guard_ == 0) guard(orders[0]);
  if (process.guard_ > 0) process.pid_ = ::fork();
  if (process.guard_ > 0 && process.pid_ == 0) {
    become_held({texts, go, failed[1], orders[1], process.gave_terminal_});
  }
  int why = process.pid_ > 0 ? 0 : errno;
  ::close(orders[0]);
  ::close(failed[1]);
  if (process.pid_ > 0) {
    ::setpgid(process.pid_, process.pid_);
    process.tell_guard(process.pid_, setup.deadline);
    static_cast<void>(!::write(go[1], "g", 1));
    while (::read(failed[0], &why, sizeof why) < 0 && errno == EINTR) {
    }
  }
  close_both(go);
  ::close(failed[0]);
  if (why == 0) return process;
  const bool missing = why == ENOENT;
  return std::unexpected(StartError{
      missing ? kNotFound : 126, fmt::format("cannot start {}: {}", setup.command.front(),
                                             missing ? "command not found" : std::strerror(why))});
}

HeldProcess::HeldProcess(HeldProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      guard_(std::exchange(other.guard_, -1)),
      guard_pipe_(std::exchange(other.guard_pipe_, -1)),
      gave_terminal_(other.gave_terminal_),
      exit_code_(other.exit_code_) {}

HeldProcess::~HeldProcess() {
  if (pid_ > 0) signal(SIGKILL);
  if (guard_pipe_ >= 0) ::close(guard_pipe_);
  if (guard_ > 0) reap(guard_, nullptr);
  if (pid_ > 0) reap(pid_, nullptr);
}

void HeldProcess::tell_guard(pid_t group, Instant deadline) const {
  GuardOrder order{group, deadline.us};
  static_cast<void>(!::write(guard_pipe_, &order, sizeof order));
}

void HeldProcess::extend(Instant deadline) {
  if (pid_ > 0) tell_guard(pid_, deadline);
}

void HeldProcess::signal(int number) const {
  if (pid_ > 0) ::kill(-pid_, number);
}

std::optional<int> HeldProcess::ended() {
  if (exit_code_ || pid_ <= 0) return exit_code_;
  siginfo_t info{};
  const int got = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (got == 0 && info.si_pid == 0) return std::nullopt;
  // Not reaped yet, so that its number still means this group.
  ::kill(-pid_, SIGKILL);
  tell_guard(0, {});
  ::close(std::exchange(guard_pipe_, -1));
  reap(std::exchange(guard_, -1), nullptr);
  int status = 0;
  reap(std::exchange(pid_, -1), &status);
  if (gave_terminal_) {
    ::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  }
  exit_code_ = exit_code_of(status);
  return exit_code_;
}

}  // namespace vortex::cli
