#include "codec/yaml_fault.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "codec/open_bracket.h"
#include "model/text_check.h"

namespace vortex::codec {
namespace {

struct Translation {
  std::string_view begins;
  std::string_view message;
  std::string_view help;
};

// By how the library's message begins; the first that fits counts.
constexpr std::array<Translation, 16> kTranslations{{
    {"end of map flow not found", "a '{' is not closed", ""},
    {"end of sequence flow not found", "a '[' is not closed", ""},
    {"end of map not found", "the indentation of this line does not fit the lines before it",
     "members of one object begin in the same column"},
    {"end of sequence not found", "the indentation of this line does not fit the lines before it",
     "items of one list begin in the same column"},
    {"illegal map value", "a ':' stands where no key can end",
     "indent the line like its neighbours; a text with ': ' in it needs quotes"},
    {"illegal map key", "a key can not stand here", "indent the line like its neighbours"},
    {"illegal block entry", "a '- ' can not stand here",
     "indent the line like the other items of its list"},
    {"illegal EOF in scalar", "a quote is not closed", ""},
    {"illegal document indicator in scalar", "a quote is not closed", ""},
    {"illegal flow end", "a '}' or ']' closes what is not open", ""},
    {"illegal character in scalar", "a character can not stand here", "put the text in quotes"},
    {"unknown escape character", "unknown escape in double quotes",
     "write \\\\ for a backslash, or use single quotes"},
    {"unknown token", "unexpected character", "put the text in quotes"},
    {"the referenced anchor is not defined", "there is no anchor of this name",
     "define it before, with & in front of its name"},
    {"illegal tab when looking for indentation", "a tab can not indent", "use spaces"},
    {"bad character found while scanning hex number", "an escape has a wrong digit", ""},
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
    return problem_at(tab, "a tab can not indent", "use spaces");
  }
  for (const auto& [begins, bracket] : {std::pair("end of map flow not found", '{'),
                                        std::pair("end of sequence flow not found", '[')}) {
    const Position open = message.starts_with(begins) ? open_bracket(text, bracket) : Position{};
    if (open.line != 0) at = open;
  }
  const std::string_view line = line_at(text, at.line);
  if (line.contains("${{")) {
    return problem_at(at, "this can not be read as YAML", "put a text with ${{ }} in quotes");
  }
  if (message.starts_with("unknown escape")) {  // told behind it
    const std::size_t slash = line.rfind('\\', at.column - 1);
    if (slash != line.npos) at.column = static_cast<std::uint32_t>(slash + 1);
  }
  for (const Translation& known : kTranslations) {
    if (!message.starts_with(known.begins)) continue;
    return problem_at(at, std::string(known.message), std::string(known.help));
  }
  return problem_at(at, "this is not YAML: " + in_quotes(message), "");
}

}  // namespace vortex::codec
