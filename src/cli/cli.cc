#include "cli/cli.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/local/process.h"
#include "worker/slot/runner.h"
#include "worker/slot/runner_messages.h"

namespace vortex::cli {
namespace {

// A standard stream that is closed would be the next file opened: the database, with messages
// written into it.
void open_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);
  }
}

// Output that did not arrive is a failure, unless its reader has left: `vortex runs list | head`.
ExitCode with_output_flushed(ExitCode code) {
  const int fault = flush_output();
  if (fault == 0 || fault == EPIPE) return code;
  complain(fmt::format("cannot write the output: {}", std::strerror(fault)));
  return code == ExitCode::kOk ? ExitCode::kFailed : code;
}

// Nothing is meant to come as an exception up to here; if it does, it ends like any other failure.
ExitCode run_chosen(const Command& chosen, Context& context) {
  try {
    return chosen(context);
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}", error.what()),
             "this is a bug in vortex; please report it with the command that caused it");
  }
  return ExitCode::kFailed;
}

}  // namespace

int run(int argc, char** argv, const std::vector<AddCommand>& more) {
  // Nothing else is set up in a runner: it answers for the processes of a task and does no more.
  if (argc == 2 && std::string_view(argv[1]) == "task-runner") {
    return worker::run_task_runner(worker::kRunnerControl);
  }
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Context context;
  context.program = local::own_program();
  context.arguments = arguments;
  context.setting_flags = take_settings(arguments);

  CLI::App app("vortex: run DAGs of commands without losing work", "vortex");
  Command chosen;
  build_app(app, context, chosen, more);
  std::vector<std::string> from_the_back(arguments.rbegin(), arguments.rend());
  try {
    app.parse(from_the_back);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      print(text.str());
      return static_cast<int>(with_output_flushed(ExitCode::kOk));
    }
    say_here(usage_text(app, error, arguments));
    return static_cast<int>(ExitCode::kUsage);
  }
  return static_cast<int>(with_output_flushed(run_chosen(chosen, context)));
}

}  // namespace vortex::cli
