// vortex fence check: inside a task, before an irreversible step: does this attempt still hold it?
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "cli/address.h"
#include "cli/api_client.h"
#include "cli/command_spec.h"
#include "cli/commands.h"

namespace vortex::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

ExitCode check(const Context& context) {
  const std::string task = environment("VORTEX_TASK_ID");
  const std::string epoch = environment("VORTEX_EPOCH");
  const std::string url = environment("VORTEX_URL");
  if (task.empty() || epoch.empty()) {
    complain("VORTEX_TASK_ID and VORTEX_EPOCH are not set",
             "`vortex fence check` only works inside a task");
    return ExitCode::kUsage;
  }
  Context where = context;
  if (where.servers.empty() && !url.empty()) where.servers.push_back(url);
  const auto api = ApiClient::open(where);
  if (!api) return api.error();
  const std::string target = fmt::format("/api/tasks/{}/fence", escaped(task));
  const auto answer = (*api)->get(with_query(target, {{"epoch", epoch}}));
  if (answer) {
    if (wants_json(context)) print(answer->text + "\n");
    return ExitCode::kOk;
  }
  // Lost for good, or never had: both mean stop.
  const bool lost = answer.error().status == 409 || answer.error().status == 404;
  const ExitCode code = report(answer.error());
  return lost ? ExitCode::kFailed : code;
}

}  // namespace

void add_fence(CommandSpec app, Command& chosen) {
  CommandSpec fence =
      app.command("fence", "Check from inside a task whether it may still act").group(kAct);
  fence.needs_command();
  fence.example("vortex fence check && publish");
  CommandSpec ask = fence.command(
      "check", "Exit 0 while this attempt holds its task, 1 if not, 5 if no controller answers");
  ask.example("vortex fence check && curl -X POST https://example.org/publish");
  ask.on_chosen(chosen, check);
}

}  // namespace vortex::cli
