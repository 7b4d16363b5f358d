#include "cli/cli.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "base/fault_point.h"
#include "cli/app.h"
#include "cli/local/process.h"
#include "worker/runner.h"
#include "worker/runner_messages.h"

namespace vortex::cli {

int run(int argc, char** argv) {
  // Nothing else is set up in a runner: it answers for the processes of a task and does no more.
  if (argc == 2 && std::string_view(argv[1]) == "task-runner") {
    return worker::run_task_runner(worker::kRunnerControl);
  }
  std::signal(SIGPIPE, SIG_IGN);
  if (const char* fault = std::getenv("VORTEX_FAULT_POINT")) arm_fault_point(fault);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Context context;
  context.program = local::own_program();
  context.arguments = arguments;
  context.setting_flags = take_settings(arguments);

  CLI::App app("vortex: runs DAGs of commands and does not lose work", "vortex");
  Command chosen;
  build_app(app, context, chosen);
  std::vector<std::string> from_the_back(arguments.rbegin(), arguments.rend());
  try {
    app.parse(from_the_back);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      return static_cast<int>(ExitCode::kOk);
    }
    fmt::print(stderr, "{}", usage_text(app, error, arguments));
    return static_cast<int>(ExitCode::kUsage);
  }
  const ExitCode code = chosen(context);
  std::fflush(stdout);
  return static_cast<int>(code);
}

}  // namespace vortex::cli
