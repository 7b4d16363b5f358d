#pragma once
// The start of a child process, for those who fork: what must be ready before the fork, and what
// every child of ours does first.
//
// Between fork and exec only what a signal handler might do is allowed, so all texts are laid out
// before, and begin_child() allocates nothing.

#include <string>
#include <vector>

namespace vortex::cli {

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
