#include <fmt/format.h>

#include "base/version.h"
#include "cli/commands.h"

namespace vortex::cli {

void add_version(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("version", "Which vortex this is");
  command->callback([&chosen] {
    chosen = [](Context& context) {
      print(context.output == "json" ? fmt::format("{{\"version\":\"{}\"}}\n", version())
                                     : fmt::format("vortex {}\n", version()));
      return ExitCode::kOk;
    };
  });
}

}  // namespace vortex::cli
