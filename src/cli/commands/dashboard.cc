// vortex dashboard: the address of the dashboard, with a pass that logs a browser in once.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {

// The pass stands behind the #, which browsers send to nobody; the page takes it from there and
// removes it. It can be used once and ends soon, so that it is worth nothing in a log.
std::expected<std::string, Failure> dashboard_link(ApiClient& api) {
  const auto pass = api.post("/api/session/pass");
  if (!pass) return std::unexpected(pass.error());
  const std::string text = text_at(pass->object(), "pass");
  return api.server() + (text.empty() ? "/" : "/#login=" + text);
}

void add_dashboard(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("dashboard", "Print a link to the dashboard that logs a browser in once");
  command.group(kLook);
  command.example("xdg-open \"$(vortex dashboard)\"");
  command.on_chosen(chosen, [](Context& context) {
    const auto api = ApiClient::open(context);
    if (!api) return api.error();
    const auto link = dashboard_link(**api);
    if (!link) return report(link.error());
    show_one(context, boost::json::object{{"url", *link}}, {*link, *link + "\n"});
    return ExitCode::kOk;
  });
}

}  // namespace vortex::cli
