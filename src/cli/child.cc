#include "cli/child.h"

#include <csignal>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace vortex::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> with_our_own(std::vector<std::string> variables) {
  for (char** at = ::environ; *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

}  // namespace

ExecTexts::ExecTexts(std::vector<std::string> arguments, std::vector<std::string> environment)
    : arguments_(std::move(arguments)),
      variables_(with_our_own(std::move(environment))),
      argv_(pointers(arguments_)),
      environment_(pointers(variables_)) {}

void begin_child() {
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vortex::cli
