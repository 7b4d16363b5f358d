#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "codec/json_writer.h"
#include "controller/controller.h"

namespace vortex::cli {
namespace {

std::string as_json(const LoadedSettings& loaded) {
  std::string out;
  codec::JsonWriter json(out);
  json.begin_object().key("settings").begin_array();
  for (const EffectiveSetting& setting : loaded.effective) {
    json.begin_object();
    json.field("key", setting.key).field("value", setting.value);
    json.field("unit", setting.unit).field("origin", setting.origin);
    json.end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

std::string as_table(const LoadedSettings& loaded) {
  std::size_t key = 0;
  std::size_t value = 0;
  for (const EffectiveSetting& setting : loaded.effective) {
    key = std::max(key, setting.key.size());
    value = std::max(value, setting.value.size() + setting.unit.size() + 1);
  }
  std::string out;
  for (const EffectiveSetting& setting : loaded.effective) {
    const std::string shown =
        setting.unit.empty() ? setting.value : setting.value + " " + setting.unit;
    out += fmt::format("{:<{}}  {:<{}}  {}\n", setting.key, key, shown, value, setting.origin);
  }
  return out;
}

ExitCode show(Context& context) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  for (const std::string& notice : loaded->notices) talk("note: " + notice);
  print(wants_json(context) ? as_json(*loaded) : as_table(*loaded));
  return ExitCode::kOk;
}

ExitCode check(Context& context) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  for (const std::string& notice : loaded->notices) talk("note: " + notice);
  if (const auto tls = controller::open_tls(loaded->settings.controller); !tls) {
    complain(tls.error());
    return ExitCode::kInvalid;
  }
  if (!context.quiet) talk("The settings are valid");
  return ExitCode::kOk;
}

}  // namespace

void add_config(CommandSpec app, Command& chosen) {
  CommandSpec config = app.command("config", "Show or check the settings").group(kOperate);
  config.needs_command();
  config.example("vortex config show");
  CommandSpec all = config.command("show", "Show every setting, its value and where it comes from");
  all.example("vortex config show --tuning=lan -o json");
  all.on_chosen(chosen, show);
  CommandSpec test = config.command(
      "check", "Check file, environment, flags and certificates; exit 7 if something is wrong");
  test.example("vortex config check --config vortex.toml");
  test.on_chosen(chosen, check);
}

}  // namespace vortex::cli
