#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/server.h"

namespace vortex::cli {
namespace {

ExitCode health(Context& context) {
  const auto answer = call_server(context, net::Method::kGet, "/health");
  if (!answer) return answer.error();
  print(answer->body + "\n");
  return answer->status == 200 ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

void add_health(CLI::App& app, Command& chosen) {
  app.add_subcommand("health", "Ask a controller how it is; exit 0 healthy, 1 not, 5 unreachable")
      ->callback([&chosen] { chosen = health; });
}

}  // namespace vortex::cli
