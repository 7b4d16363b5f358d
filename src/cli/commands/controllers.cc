// vortex controllers: which controllers share the database, and which of them leads.

#include <string>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr ListColumn kControllerColumns[] = {
    {"CONTROLLER", [](const object& o, const Look&) { return plain_cell(o, "id"); }},
    {"ROLE", [](const object& o, const Look&) { return plain_cell(o, "role"); }},
    {"URL", [](const object& o, const Look&) { return plain_cell(o, "url"); }},
    {"SEEN", [](const object& o, const Look& l) { return time_cell(o, "seen_at", l); }},
};
constexpr Listing kControllers{"controllers", "controllers",
                               [](const object& o) { return text_at(o, "id"); },
                               kControllerColumns};

}  // namespace

void add_controllers(CommandSpec app, Command& chosen) {
  CommandSpec controllers =
      app.command("controllers", "Show the controllers that share the database").group(kLook);
  controllers.needs_command();
  controllers.example("vortex controllers list");
  CommandSpec all = controllers.command("list", "List controllers and which of them leads");
  all.example("vortex controllers list -o json");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kControllers, "/api/controllers"); });
}

}  // namespace vortex::cli
