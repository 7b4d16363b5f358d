#include "codec/yaml_fault.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "codec/open_bracket.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

struct Translation {
  std::string_view begins;
  std::string_view message;
  std::string_view help;
};

// By how the library's message begins; the first that fits counts.
constexpr std::array<Translation, 16> kTranslations{{
    {"end of map flow not found", "a '{' is never closed", ""},
    {"end of sequence flow not found", "a '[' is never closed", ""},
    {"end of map not found", "the indentation of this line does not match the previous lines",
     "keys of the same map must start in the same column"},
    {"end of sequence not found", "the indentation of this line does not match the previous lines",
     "items of the same list must start in the same column"},
    {"illegal map value", "a ':' is not allowed here",
     "indent the line like its neighbours; a string that contains ': ' needs quotes"},
    {"illegal map key", "a key is not allowed here", "indent the line like its neighbours"},
    {"illegal block entry", "a '- ' is not allowed here",
     "indent the line like the other items of its list"},
    {"illegal EOF in scalar", "a quote is never closed", ""},
    {"illegal document indicator in scalar", "a quote is never closed", ""},
    {"illegal flow end", "a '}' or ']' closes nothing", ""},
    {"illegal character in scalar", "this character is not allowed here",
     "put the string in quotes"},
    {"unknown escape character", "unknown escape in double quotes",
     "write \\\\ for a backslash, or use single quotes"},
    {"unknown token", "unexpected character", "put the string in quotes"},
    {"the referenced anchor is not defined", "there is no anchor with this name",
     "define it earlier, with & in front of its name"},
    {"illegal tab when looking for indentation", "tabs are not allowed for indentation",
     "use spaces"},
    {"bad character found while scanning hex number", "an escape contains an invalid digit", ""},
}};

std::string_view line_at(std::string_view text, std::uint32_t line) {
  for (; line > 1 && !text.empty(); --line) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// A tab that indents upsets the parser somewhere behind it: the first one before that is told.
Position find_tab(std::string_view text, std::uint32_t last) {
  for (std::uint32_t line = 1; line <= last; ++line) {
    const std::string_view content = text.substr(0, text.find('\n'));
    const std::size_t tab = content.find_first_not_of(' ');
    const bool indents = tab != content.npos && content[tab] == '\t' &&
                         content.find_first_not_of(" \t\r") != content.npos;
    if (indents) return {.line = line, .column = static_cast<std::uint32_t>(tab + 1)};
    if (content.size() == text.size()) break;
    text.remove_prefix(content.size() + 1);
  }
  return {};
}

Problem problem_at(Position at, std::string message, std::string help) {
  return {.pointer = {},
          .message = std::move(message),
          .help = std::move(help),
          .line = at.line,
          .column = at.column};
}

}  // namespace

Problem yaml_fault(std::string_view text, Position at, std::string_view message) {
  if (const Position tab = find_tab(text, at.line); tab.line != 0) {
    return problem_at(tab, "tabs are not allowed for indentation", "use spaces");
  }
  for (const auto& [begins, bracket] : {std::pair("end of map flow not found", '{'),
                                        std::pair("end of sequence flow not found", '[')}) {
    const Position open = message.starts_with(begins) ? open_bracket(text, bracket) : Position{};
    if (open.line != 0) at = open;
  }
  const std::string_view line = line_at(text, at.line);
  if (line.contains("${{")) {
    return problem_at(at, "this is not valid YAML", "put a string with ${{ }} in quotes");
  }
  if (message.starts_with("unknown escape")) {  // told behind it
    const std::size_t slash = line.rfind('\\', at.column - 1);
    if (slash != line.npos) at.column = static_cast<std::uint32_t>(slash + 1);
  }
  for (const Translation& known : kTranslations) {
    if (!message.starts_with(known.begins)) continue;
    return problem_at(at, std::string(known.message), std::string(known.help));
  }
  return problem_at(at, "not valid YAML: " + in_quotes(message), "");
}

}  // namespace vortex::codec
