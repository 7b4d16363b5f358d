// vortex version: which vortex this is.
#include <string>

#include <fmt/format.h>

#include "base/version.h"
#include "cli/listing.h"
#include "cli/options.h"

namespace vortex::cli {

void add_version(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("version", "Which vortex this is")->group(kOperate);
  example(*command, "vortex version -o json");
  on_chosen(*command, chosen, [](Context& context) {
    const std::string text(version());
    return show_one(context, boost::json::object{{"version", text}},
                    {text, fmt::format("vortex {}\n", text)});
  });
}

}  // namespace vortex::cli
