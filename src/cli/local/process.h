#pragma once
// A process of vortex started by vortex itself on this machine: for `dev`, `drill`, the benches and
// the tests that kill things.
//
// It has a process group of its own, so that Ctrl-C reaches only us and the order of stopping is
// ours, and it is sent SIGTERM when we die. The destructor ends it by its process id.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"

namespace vortex::cli {

// The start of a child process, for those who fork: what must be ready before the fork, and what
// every child of ours does first.
//
// Between fork and exec only what a signal handler might do is allowed, so all texts are laid out
// before, and begin_child() allocates nothing.

// The arguments of exec. Not movable: the pointers are into it.
class ExecTexts {
 public:
  // `environment` (NAME=value) comes before our own, so it wins.
  ExecTexts(std::vector<std::string> arguments, std::vector<std::string> environment);
  ExecTexts(const ExecTexts&) = delete;
  ExecTexts& operator=(const ExecTexts&) = delete;

  char** argv() { return argv_.data(); }
  char** environment() { return environment_.data(); }

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> variables_;
  std::vector<char*> argv_;
  std::vector<char*> environment_;
};

// In the child: a process group of its own, and no signal blocked.
void begin_child();

// Of a status that waitpid gave: its exit code, or 128 + signal.
int exit_code_of(int status);

}  // namespace vortex::cli

namespace vortex::cli::local {

struct ProcessConfig {
  std::vector<std::string> argv;         // the program first
  std::string log;                       // file that gets stdout and stderr
  std::string workdir;                   // empty: ours
  std::vector<std::string> environment;  // NAME=value, besides our own
};

struct ProcessUse {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t resident_bytes_max = 0;
};
ProcessUse use_of(pid_t pid);

class Process {
 public:
  static std::expected<std::unique_ptr<Process>, std::string> spawn(const ProcessConfig& config);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool is_alive();
  void signal(int number);
  void kill_now();  // SIGKILL, and waits for its end
  // SIGTERM, and SIGKILL when it takes longer; its exit code, or 128 + signal.
  int stop(Duration limit = seconds(60));
  int wait(Duration limit);  // the same without the SIGTERM
  int exit_code() const;     // once it is not alive

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  bool reap(int flags);

  pid_t pid_ = -1;
  int status_ = 0;
};

// This very program.
std::string own_program();

}  // namespace vortex::cli::local
