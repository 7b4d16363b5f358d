#include "cli/app.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "base/version.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kHelpColumn = 34;
constexpr const char* kFooter =
    "Settings can be given in the file passed with --config, in the environment as\n"
    "VORTEX_SECTION_KEY, or as flags: --section.key=value; `vortex config show` lists them.\n"
    "RUN is an id (r42), a unique prefix, @last or @last-failed; TASK is r42-L1-7, RUN/name or\n"
    "RUN/name[3].\n"
    "\n"
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 auth, 5 server unreachable, 6 conflict,\n"
    "7 invalid file or configuration, 8 run failed, 9 wait timed out, 10 run cancelled,\n"
    "130 interrupted.";

constexpr std::string_view kOutputs[] = {"table", "wide", "json", "jsonl", "name"};
constexpr std::string_view kColors[] = {"auto", "always", "never"};

template <class Enum, std::size_t N>
void add_choice(CLI::App& app, const std::string& name, Enum& value,
                const std::string_view (&words)[N], const std::string& help) {
  const auto take = [&value, &words](const std::string& text) {
    value = static_cast<Enum>(std::ranges::find(words, text) - std::begin(words));
  };
  const std::vector<std::string> allowed(std::begin(words), std::end(words));
  app.add_option_function<std::string>(name, take, help)
      ->check(CLI::IsMember(allowed))
      ->take_last()
      ->type_name("WORD")
      ->default_str(std::string(words[0]));
}

void add_globals(CLI::App& app, Context& context) {
  CommandSpec all(app);
  all.option(
         "--server", context.servers,
         "Address of a controller; separate several with commas, or repeat; they are tried in turn")
      .environment("VORTEX_SERVER")
      .value_name("URL")
      .one_word()
      .default_text(kDefaultServer);
  all.option("--token-file", context.token_file, "File that contains the token")
      .environment("VORTEX_TOKEN_FILE")
      .value_name("FILE");
  all.option("--ca-file", context.ca_file, "Trust controllers with a certificate of this CA")
      .environment("VORTEX_CA_FILE")
      .value_name("FILE");
  all.option("--cert-file", context.cert_file, "Client certificate, if the controller wants one")
      .environment("VORTEX_CERT_FILE")
      .value_name("FILE");
  all.option("--key-file", context.key_file, "Private key of the client certificate")
      .environment("VORTEX_KEY_FILE")
      .value_name("FILE");
  all.option("--config", context.config, "Settings file (TOML)")
      .environment("VORTEX_CONFIG")
      .value_name("FILE");
  add_choice(app, "-o,--output", context.output, kOutputs,
             "Output format: table, wide (more columns), json, jsonl, name (ids only)");
  add_choice(app, "--color", context.color, kColors,
             "Use colors: auto (on a terminal, unless NO_COLOR is set), always, never");
  all.flag("-q,--quiet", context.quiet, "Print only the result");
  all.flag("-v,--verbose", context.verbose, "Show each call to a controller and its outcome");
  all.flag("-y,--yes", context.yes, "Skip confirmation prompts");
  all.duration("--timeout", context.timeout,
               "Time limit for one call to a controller, including retries");
}

bool is_setting_flag(const std::string& argument) {
  if (!argument.starts_with("--")) return false;
  const std::string name = argument.substr(2, argument.find('=') - 2);
  return name.contains('.') || name == "tuning";
}

// The deepest command that the arguments name, and the first word that names none.
struct NamedCommand {
  const CLI::App* command;
  std::string stranger;
};

// Whether the word behind this one is its value.
bool takes_next(const CLI::App& command, const std::string& argument) {
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      if (option->check_name(argument)) return option->get_items_expected_max() > 0;
    }
  }
  return false;
}

NamedCommand walk(const CLI::App& app, const std::vector<std::string>& arguments) {
  NamedCommand reached{&app, {}};
  bool is_value = false;
  for (const std::string& argument : arguments) {
    if (std::exchange(is_value, false)) continue;
    if (argument.starts_with('-')) {
      is_value = takes_next(*reached.command, argument);
      continue;
    }
    const auto below = reached.command->get_subcommands(
        [&](const CLI::App* sub) { return sub->get_name() == argument; });
    if (below.empty()) {
      reached.stranger = argument;
      return reached;
    }
    reached.command = below.front();
  }
  return reached;
}

std::string path_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return command.get_name();
  return path_of(*command.get_parent()) + " " + command.get_name();
}

std::string near_option(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--") || argument == "--") continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (std::ranges::find(names, name) != names.end()) continue;
    return std::string(nearest_name(name, known));
  }
  return {};
}

bool is(const CLI::ParseError& error, CLI::ExitCodes kind) {
  return error.get_exit_code() == static_cast<int>(kind);
}

std::string near_command(const NamedCommand& reached) {
  std::vector<std::string_view> names;
  for (const CLI::App* sub : reached.command->get_subcommands({})) names.push_back(sub->get_name());
  return std::string(nearest_name(reached.stranger, names));
}

void add_commands(CommandSpec app, Command& chosen, const std::vector<AddCommand>& more) {
  add_dev(app, chosen);
  add_run(app, chosen);
  add_exec(app, chosen);
  add_validate(app, chosen);
  add_backfill(app, chosen);
  add_controller(app, chosen);
  add_worker(app, chosen);
  add_worker_check(app, chosen);
  add_dag(app, chosen);
  add_schedules(app, chosen);
  add_status(app, chosen);
  add_top(app, chosen);
  add_dashboard(app, chosen);
  add_runs(app, chosen);
  add_approvals(app, chosen);
  add_tasks(app, chosen);
  add_logs(app, chosen);
  add_events(app, chosen);
  add_audit(app, chosen);
  add_machines(app, chosen);
  add_recoveries(app, chosen);
  add_timings(app, chosen);
  add_explain(app, chosen);
  add_workers(app, chosen);
  add_queues(app, chosen);
  add_limits(app, chosen);
  add_controllers(app, chosen);
  add_dlq(app, chosen);
  add_leases(app, chosen);
  add_fence(app, chosen);
  add_config(app, chosen);
  add_doctor(app, chosen);
  add_drill(app, chosen);
  add_health(app, chosen);
  add_db(app, chosen);
  add_reconcile(app, chosen);
  add_secrets(app, chosen);
  add_tokens(app, chosen);
  add_tls(app, chosen);
  add_login(app, chosen);
  add_logout(app, chosen);
  add_webhooks(app, chosen);
  for (const AddCommand add : more) add(app, chosen);
  add_completion(app, chosen);
  add_version(app, chosen);
}

}  // namespace

namespace {

// The groups are those of the main help; below a command there is only one.
void group_below(CLI::App& command) {
  for (CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) {
    if (command.get_parent() != nullptr && !sub->get_group().empty()) sub->group("Commands");
    group_below(*sub);
  }
}

}  // namespace

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

void build_app(CLI::App& app, Context& context, Command& chosen,
               const std::vector<AddCommand>& more) {
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(kHelpColumn);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.set_version_flag("--version", std::string(version()));
  add_globals(app, context);
  add_commands(CommandSpec(app), chosen, more);
  group_below(app);
}

std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& arguments) {
  const NamedCommand reached = walk(app, arguments);
  const bool expects_command = !reached.command->get_subcommands({}).empty();
  std::string what = error.what();
  std::string near;
  if (expects_command && !reached.stranger.empty()) {
    what = fmt::format("'{} {}' is not a command", path_of(*reached.command), reached.stranger);
    near = near_command(reached);
  } else if (expects_command && is(error, CLI::ExitCodes::RequiredError)) {
    what = fmt::format("'{}' needs a subcommand", path_of(*reached.command));
  } else if (is(error, CLI::ExitCodes::ExtrasError)) {
    near = near_option(*reached.command, arguments);
  }
  std::string out = fmt::format("error: {}\n", what);
  if (!near.empty()) out += fmt::format("  = help: did you mean '{}'?\n", near);
  return out + fmt::format("  = help: see `{} --help`\n", path_of(*reached.command));
}

}  // namespace vortex::cli
