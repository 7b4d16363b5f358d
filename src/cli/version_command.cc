// vortex version: which vortex this is.
#include <string>

#include <fmt/format.h>

#include "base/version.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/listing.h"

namespace vortex::cli {

void add_version(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("version", "Print the version").group(kOperate);
  command.example("vortex version -o json");
  command.on_chosen(chosen, [](Context& context) {
    const std::string text(version());
    return show_one(context, boost::json::object{{"version", text}},
                    {text, fmt::format("vortex {}\n", text)});
  });
}

}  // namespace vortex::cli
