#include "cli/confirm.h"

#include <iostream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/terminal.h"

namespace vortex::cli {

std::optional<ExitCode> confirm(const Context& context, std::string_view question) {
  if (context.yes) return std::nullopt;
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) {
    complain(fmt::format("{} needs confirmation", question), "pass --yes when not at a terminal");
    return ExitCode::kUsage;
  }
  fmt::print(stderr, "{}? [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  talk("nothing was done");
  return ExitCode::kFailed;
}

}  // namespace vortex::cli
