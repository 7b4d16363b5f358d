#include "cli/command_spec.h"

#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "codec/units.h"

namespace vortex::cli {

OptionSpec OptionSpec::required() {
  option_->required();
  return *this;
}

OptionSpec OptionSpec::not_empty() {
  option_->check([](const std::string& text) {
    return std::string(text.empty() ? "must not be empty" : "");  // behind the name of the option
  });
  return *this;
}

OptionSpec OptionSpec::between(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

OptionSpec OptionSpec::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

OptionSpec OptionSpec::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

OptionSpec OptionSpec::default_text(const std::string& text) {
  option_->default_str(text);
  return *this;
}

OptionSpec OptionSpec::shows_default() {
  option_->capture_default_str();
  return *this;
}

OptionSpec OptionSpec::environment(const std::string& name) {
  option_->envname(name);
  return *this;
}

OptionSpec OptionSpec::one_word() {
  option_->allow_extra_args(false);
  return *this;
}

OptionSpec OptionSpec::hidden() {
  option_->group("");
  return *this;
}

CommandSpec CommandSpec::command(const std::string& name, const std::string& help) {
  return CommandSpec(*app_->add_subcommand(name, help));
}

CommandSpec CommandSpec::group(const std::string& title) {
  app_->group(title);
  return *this;
}

CommandSpec CommandSpec::needs_command() {
  app_->require_subcommand(1);
  return *this;
}

OptionSpec CommandSpec::option(const std::string& name, std::string& value,
                               const std::string& help) {
  const OptionSpec option(app_->add_option(name, value, help));
  return name.starts_with('-') ? option : OptionSpec(option).not_empty();
}

OptionSpec CommandSpec::option(const std::string& name, std::vector<std::string>& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, int& value, const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::uint16_t& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::uint32_t& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::uint64_t& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::optional<std::uint64_t>& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, double& value, const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::flag(const std::string& name, bool& value, const std::string& help) {
  return OptionSpec(app_->add_flag(name, value, help));
}

OptionSpec CommandSpec::duration(const std::string& name, Duration& value,
                                 const std::string& help) {
  const auto take = [&value](const std::string& text) {
    const auto parsed = codec::parse_duration(text);
    if (!parsed) {
      throw CLI::ValidationError(
          fmt::format("'{}' {}: write it like 90s, 5m or 1.5h", text, parsed.error()));
    }
    value = *parsed;
  };
  CLI::Option* option = app_->add_option_function<std::string>(name, take, help);
  option->take_last()->type_name("TIME");
  if (value.us > 0) option->default_str(codec::duration_text(value));
  return OptionSpec(option);
}

void CommandSpec::example(const std::string& lines) {
  std::string text = "Example: ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "         ";
  }
  app_->footer(text);
}

void CommandSpec::on_chosen(Command& chosen, Command act) {
  app_->callback([&chosen, act = std::move(act)] { chosen = act; });
}

}  // namespace vortex::cli
