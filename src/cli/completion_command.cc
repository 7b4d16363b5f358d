// vortex completion: a script for the shell, made from the commands that this program has.
#include <memory>
#include <string>

#include "cli/completion.h"
#include "cli/options.h"

namespace vortex::cli {

void add_completion(CLI::App& app, Command& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "A script that completes commands in a shell")
          ->group(kOperate);
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("WORD");
  example(*command, "source <(vortex completion bash)");
  on_chosen(*command, chosen, [shell, &app](Context&) {
    const std::vector<CompletionPoint> points = completion_points(app);
    if (*shell == "bash") print(bash_completion(points));
    if (*shell == "zsh") print(zsh_completion(points));
    if (*shell == "fish") print(fish_completion(points));
    return ExitCode::kOk;
  });
}

}  // namespace vortex::cli
