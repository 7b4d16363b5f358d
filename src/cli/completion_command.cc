// vortex completion: a script for the shell, made from the commands that this program has.
#include <memory>
#include <string>

#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/completion.h"

namespace vortex::cli {

void add_completion(CommandSpec app, Command& chosen) {
  auto shell = std::make_shared<std::string>();
  CommandSpec command =
      app.command("completion", "Print a completion script for a shell").group(kOperate);
  command.option("shell", *shell, "bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"})
      .value_name("WORD");
  command.example("source <(vortex completion bash)");
  command.on_chosen(chosen, [shell, app](Context&) {
    const std::vector<CompletionPoint> points = completion_points(app.tree());
    if (*shell == "bash") print(bash_completion(points));
    if (*shell == "zsh") print(zsh_completion(points));
    if (*shell == "fish") print(fish_completion(points));
    return ExitCode::kOk;
  });
}

}  // namespace vortex::cli
