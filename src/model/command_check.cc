#include "model/command_check.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace vortex {
namespace {

Complaint complain_of_words(std::string_view what, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (auto c = complain_of_argument(what, word, kArgumentBytesMax)) return c;
  }
  return std::nullopt;
}

// The first word names the program: of the shell if there is one, else of the arguments.
Complaint complain_of_program(const CommandLine& command) {
  const auto& words = command.shell.empty() ? command.argv : command.shell;
  if (words.empty() || !words.front().empty()) return std::nullopt;
  return "the name of the program to start is empty";
}

Complaint complain_of_environment(const CommandLine& command) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : command.env) {
    if (auto c = complain_of_variable(name, value)) return c;
    names.push_back(name);
  }
  return complain_of_twice("environment variable", std::move(names));
}

std::size_t bytes_of(const CommandLine& command) {
  std::size_t bytes = 0;
  for (const auto* words : {&command.argv, &command.shell}) {
    for (const std::string& word : *words) bytes += word.size() + 1;
  }
  for (const auto& [name, value] : command.env) bytes += name.size() + value.size() + 2;
  return bytes;
}

}  // namespace

Complaint complain_of_variable(std::string_view name, std::string_view value) {
  if (name.empty()) return "the name of an environment variable is empty";
  if (name.find('=') != std::string_view::npos) {
    return fmt::format("the name of environment variable {} contains a '='", in_quotes(name));
  }
  if (name.find_first_of(" \t\r\n\v\f") != std::string_view::npos) {
    return fmt::format("the name of environment variable {} contains a space", in_quotes(name));
  }
  if (auto c = complain_of_argument("environment variable", name, kNameBytesMax)) return c;
  // Name, '=' and value are one argument to the kernel.
  return complain_of_argument("environment value", value, kArgumentBytesMax - name.size() - 1);
}

Complaint complain_of_command(const CommandLine& command) {
  if (const std::size_t bytes = bytes_of(command); bytes > kCommandBytesMax) {
    return fmt::format("the command has {} bytes with its environment; at most {} are allowed",
                       bytes, kCommandBytesMax);
  }
  if (auto c = complain_of_program(command)) return c;
  if (auto c = complain_of_words("argument", command.argv)) return c;
  if (auto c = complain_of_words("word of the shell", command.shell)) return c;
  if (auto c = complain_of_environment(command)) return c;
  return complain_of_argument("workdir", command.workdir, kPathBytesMax);
}

}  // namespace vortex
