#include "cli/context.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> all;
  for (char** at = ::environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

// The C library keeps that a write failed, but not why.
int first_failed_write = 0;

void note_failed_write() {
  if (first_failed_write == 0) first_failed_write = errno != 0 ? errno : EIO;
}

}  // namespace

std::optional<LoadedSettings> load(const Context& context) {
  LoadRequest request;
  if (!context.config.empty()) {
    auto file = read_settings_file(context.config);
    if (!file) {
      say_here(to_text(file.error()));
      return std::nullopt;
    }
    request.file = std::move(*file);
  }
  request.environment = environment();
  request.flags = context.setting_flags;
  auto loaded = load_settings(request);
  if (loaded) return std::move(*loaded);
  for (const SettingsError& error : loaded.error()) say_here(to_text(error));
  return std::nullopt;
}

void print(std::string_view text) {
  is_terminal(STDOUT_FILENO) ? print_raw(for_terminal(text)) : print_raw(text);
}

void print_raw(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) note_failed_write();
}

bool print_now(std::string_view text) {
  print(text);
  return flush_output() == 0;
}

bool print_raw_now(std::string_view text) {
  print_raw(text);
  return flush_output() == 0;
}

int flush_output() {
  if (std::fflush(stdout) != 0) note_failed_write();
  return first_failed_write;
}

// Not fmt::print: nobody may be left to read it, and that is no reason to fail.
void talk(std::string_view text) { say_here(fmt::format("{}\n", text)); }

void say_here(std::string_view text) {
  const std::string shown = is_terminal(STDERR_FILENO) ? for_terminal(text) : std::string(text);
  static_cast<void>(std::fwrite(shown.data(), 1, shown.size(), stderr));
}

void complain(std::string_view what, std::string_view help) {
  talk(fmt::format("error: {}", what));
  if (!help.empty()) talk(fmt::format("  = help: {}", help));
}

std::optional<ExitCode> confirm(const Context& context, std::string_view question) {
  if (context.yes) return std::nullopt;
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) {
    complain(fmt::format("{} needs confirmation", question), "pass --yes when not at a terminal");
    return ExitCode::kUsage;
  }
  say_here(fmt::format("{}? [y/N] ", question));
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  talk("nothing was done");
  return ExitCode::kFailed;
}

}  // namespace vortex::cli
