#include "cli/cli.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/fault_point.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/context.h"

namespace vortex::cli {
namespace {

constexpr const char* kFooter =
    "Settings: every one can be given in the file of --config, in the environment as\n"
    "VORTEX_SECTION_KEY, or here as --section.key=value; `vortex config show` lists them.\n"
    "\n"
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 auth, 5 server unreachable, 6 conflict,\n"
    "7 invalid file or configuration, 8 run failed, 9 wait timed out, 10 run cancelled,\n"
    "130 interrupted.";

// Settings come as --section.key; they are taken out before the other options are read.
bool is_setting_flag(const std::string& argument) {
  if (!argument.starts_with("--")) return false;
  const std::string name = argument.substr(2, argument.find('=') - 2);
  return name.contains('.') || name == "tuning";
}

std::vector<std::string> take_settings(std::vector<std::string>& arguments) {
  std::vector<std::string> settings;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (!is_setting_flag(arguments[i])) {
      rest.push_back(arguments[i]);
      continue;
    }
    settings.push_back(arguments[i]);
    if (!arguments[i].contains('=') && i + 1 < arguments.size()) {
      settings.push_back(arguments[++i]);
    }
  }
  arguments = std::move(rest);
  return settings;
}

void add_globals(CLI::App& app, Context& context) {
  app.add_option("--config", context.config, "Settings file (TOML)")->envname("VORTEX_CONFIG");
  app.add_option("--server", context.server, "Address of a controller")
      ->envname("VORTEX_SERVER")
      ->default_str("http://127.0.0.1:8080");
  app.add_option("--token-file", context.token_file, "File that holds the token to show")
      ->envname("VORTEX_TOKEN_FILE");
  app.add_option("-o,--output", context.output, "How to print: table or json")
      ->check(CLI::IsMember({"table", "json"}));
  app.add_flag("-q,--quiet", context.quiet, "Say only what was asked for");
}

}  // namespace

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (const char* fault = std::getenv("VORTEX_FAULT_POINT")) arm_fault_point(fault);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Context context;
  context.program = argv[0];
  context.server = "http://127.0.0.1:8080";
  context.setting_flags = take_settings(arguments);

  CLI::App app("vortex: runs DAGs of commands and does not lose work", "vortex");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", std::string(version()));
  add_globals(app, context);
  Command chosen;
  add_controller(app, chosen);
  add_config(app, chosen);
  add_db(app, chosen);
  add_health(app, chosen);
  add_tokens(app, chosen);
  add_bench(app, chosen);
  add_version(app, chosen);

  std::ranges::reverse(arguments);  // the parser takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    const bool fine = error.get_exit_code() == 0;  // --help, --version
    app.exit(error);
    return static_cast<int>(fine ? ExitCode::kOk : ExitCode::kUsage);
  }
  return static_cast<int>(chosen(context));
}

}  // namespace vortex::cli
