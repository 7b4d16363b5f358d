// vortex doctor: looks at everything that is often wrong, and says how to put it right.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/doctor_checks.h"
#include "cli/json_view.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr ListColumn kColumns[] = {
    {"", [](const object& o, const Look& l) { return state_cell(o, "mark", l); }},
    {"CHECK", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"FOUND", [](const object& o, const Look&) { return plain_cell(o, "found"); }},
    {"FIX", [](const object& o, const Look&) { return plain_cell(o, "fix"); }},
};
constexpr Listing kChecks{"checks", "checks", [](const object& o) { return text_at(o, "name"); },
                          kColumns};

// Long texts: one check a paragraph reads better than a table.
void print_checks(const Context& context, const Checks& checks) {
  const Look look = look_at(context, STDOUT_FILENO);
  for (const Check& check : checks) {
    const std::string_view mark = to_text(check.mark);
    print(
        fmt::format("{}  {}: {}\n",
                    paint(fmt::format("{:<6}", state_text(mark, look)), tone_of_state(mark), look),
                    check.name, check.found));
    if (!check.fix.empty()) print(fmt::format("        = help: {}\n", check.fix));
  }
}

Checks all_checks(const Context& context) {
  Checks checks;
  const auto loaded = load(context);
  checks.push_back(loaded ? Check{"settings", Check::Mark::kOk, "valid", ""}
                          : Check{"settings", Check::Mark::kFail, "invalid, see above",
                                  "`vortex config check` shows the same errors"});
  const auto add = [&](Checks more) { checks.insert(checks.end(), more.begin(), more.end()); };
  add(check_servers(context));
  checks.push_back(check_token_file(context.token_file));
  if (loaded) add(check_database(loaded->settings.database));
  const Launcher launcher = loaded ? loaded->settings.worker.launcher : Launcher::kSubprocess;
  add({check_open_files(), check_processes(), check_cgroups(), check_containers(launcher),
       check_temporary_folder()});
  return checks;
}

ExitCode doctor(const Context& context) {
  const Checks checks = all_checks(context);
  if (wants_json(context) || context.output == Output::kName) {
    Fetched all;
    for (const Check& check : checks) {
      all.items.push_back(object{{"name", check.name},
                                 {"mark", to_text(check.mark)},
                                 {"found", check.found},
                                 {"fix", check.fix}});
    }
    show_list(context, kChecks, all);
  } else {
    print_checks(context, checks);
  }
  const bool failed = std::ranges::any_of(
      checks, [](const Check& check) { return check.mark == Check::Mark::kFail; });
  return failed ? ExitCode::kFailed : ExitCode::kOk;
}

}  // namespace

void add_doctor(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("doctor", "Check for common problems; exit 1 if there are any").group(kOperate);
  command.example("vortex doctor --server http://10.0.0.5:8080");
  command.on_chosen(chosen, doctor);
}

}  // namespace vortex::cli
