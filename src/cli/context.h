#pragma once
// What every command gets: the global options, and where to write.
//
// Filled by the parser before a command runs. A command returns its exit code and never calls exit.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "cli/exit_code.h"

namespace vortex::cli {

struct Context {
  std::string program;     // path of this very program, to start it again
  std::string config;      // --config; empty: none
  std::string server;      // --server
  std::string token_file;  // --token-file: never on the command line itself
  std::string output = "table";
  std::vector<std::string> setting_flags;  // --section.key value, as given
  bool quiet = false;
};

using Command = std::function<ExitCode(Context&)>;

// File, environment and flags together; errors are printed and become kInvalid.
std::optional<LoadedSettings> load(const Context& context);

void print(std::string_view text);                                 // stdout
void talk(std::string_view text);                                  // stderr, with a newline
void complain(std::string_view what, std::string_view help = {});  // error: ... = help: ...

}  // namespace vortex::cli
