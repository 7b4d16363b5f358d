#include "cli/options.h"

#include <utility>

#include <fmt/format.h>

#include "codec/units.h"

namespace vortex::cli {

CLI::Option* add_duration(CLI::App& command, const std::string& name, Duration& value,
                          const std::string& help) {
  const auto take = [&value](const std::string& text) {
    const auto parsed = codec::parse_duration(text);
    if (!parsed) {
      throw CLI::ValidationError(
          fmt::format("'{}' {}: write it like 90s, 5m or 1.5h", text, parsed.error()));
    }
    value = *parsed;
  };
  CLI::Option* option = command.add_option_function<std::string>(name, take, help);
  option->take_last()->type_name("TIME");
  if (value.us > 0) option->default_str(codec::duration_text(value));
  return option;
}

void example(CLI::App& command, const std::string& lines) {
  std::string text = "Example: ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "         ";
  }
  command.footer(text);
}

void on_chosen(CLI::App& command, Command& chosen, Command act) {
  command.callback([&chosen, act = std::move(act)] { chosen = act; });
}

}  // namespace vortex::cli
