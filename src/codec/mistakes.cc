#include "codec/mistakes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/error.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

constexpr std::size_t kFormBytes = 300;
constexpr std::size_t kTasksShown = 4;
constexpr std::size_t kTaskBytes = 100;

// `filled_in`, or `example` where that would break a line or flood the message.
std::string form(std::string filled_in, std::string_view example) {
  const auto breaks = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  const bool fits = filled_in.size() <= kFormBytes && std::ranges::none_of(filled_in, breaks);
  return fits ? std::move(filled_in) : std::string(example);
}

// In the syntax of the file.
std::string key(const Document& document, std::string_view name) {
  return document.syntax() == Syntax::kYaml ? std::string(name) : fmt::format("\"{}\"", name);
}

// One item of a list of tasks as the member of a map that it means; empty: it has no name.
std::string as_member(const Document& document, NodeIx item) {
  if (document.kind(item) == NodeKind::kText) {
    return fmt::format("{}: {{run: [...]}}", key(document, document.text(item)));
  }
  if (document.kind(item) != NodeKind::kObject) return {};
  std::string name;
  std::string rest;
  document.each_member(item, [&](NodeIx member, NodeIx value) {
    const std::string_view word = document.text(member);
    if (name.empty() && (word == "name" || word == "id")) {
      name = document.text(value);
      return;
    }
    rest += fmt::format("{}{}: ", rest.empty() ? "" : ", ", key(document, word));
    append_compact(rest, document, value);
  });
  // - build: {run: [make]}
  if (name.empty()) return document.count(item) == 1 ? rest : "";
  std::string member = fmt::format("{}: {{{}}}", key(document, name), rest);
  return member.size() <= kTaskBytes ? member : fmt::format("{}: {{...}}", key(document, name));
}

}  // namespace

std::string retry_form(const Document& document, NodeIx number) {
  const std::string_view value = document.text(number);
  return form(fmt::format("write {}: {}, or {}: {{{}: {}}}", key(document, "retries"), value,
                          key(document, "retry"), key(document, "max"), value),
              "write retries: 3, or retry: {max: 3}");
}

std::string both_retries_form(const Document& document, NodeIx number) {
  return form(fmt::format("write {}: {{{}: {}, ...}}", key(document, "retry"), key(document, "max"),
                          document.text(number)),
              "write retry: {max: 3, ...}");
}

std::string env_form(const Document& document, NodeIx list) {
  constexpr std::string_view kExample = "write env: {NAME: value}";
  std::string pairs;
  bool fits = document.count(list) > 0;
  document.each_item(list, [&](NodeIx item) {
    const std::string_view text = document.text(item);
    const std::size_t mark = text.find('=');
    fits = fits && mark != text.npos && mark > 0 && pairs.size() < kFormBytes &&
           !text.contains('"') && !text.contains('\\');
    if (!fits) return;
    pairs += fmt::format("{}{}: \"{}\"", pairs.empty() ? "" : ", ",
                         key(document, text.substr(0, mark)), text.substr(mark + 1));
  });
  if (!fits) return std::string(kExample);
  return form(fmt::format("write {}: {{{}}}", key(document, "env"), pairs), kExample);
}

std::string shell_form(const Document& document, NodeIx text) {
  constexpr std::string_view kExample = "write shell: [bash, -euc]";
  std::string words(document.text(text));
  if (words.empty() || words.size() > kFormBytes) return std::string(kExample);
  // Alone, a shell reads a script from its input: the options make it take the next word, and stop
  // at the first error.
  const bool alone = !words.contains(' ');
  if (alone) words += words.contains("python") ? " -c" : " -euc";
  std::string list;
  for (const char c : words) {
    if (c == ' ') {
      list += document.syntax() == Syntax::kYaml ? ", " : "\", \"";
    } else {
      list += c;
    }
  }
  return form(fmt::format("write {}: [{}]", key(document, "shell"), key(document, list)), kExample);
}

std::string tasks_form(const Document& document, NodeIx list) {
  std::string members;
  std::size_t shown = 0;
  document.each_item(list, [&](NodeIx item) {
    if (shown == kTasksShown) return;
    const std::string member = as_member(document, item);
    if (member.empty()) return;
    members += fmt::format("{}{}", shown == 0 ? "" : ", ", member);
    ++shown;
  });
  if (shown == 0) members = "build: {run: [make]}";
  if (shown < document.count(list)) members += ", ...";
  return form(fmt::format("write a map of names to tasks: {{{}}}", members),
              "write a map of names to tasks: {build: {run: [make]}, ...}");
}

namespace {

constexpr std::string_view kBlanks = " \t\r";

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

class Scan {
 public:
  void take(std::string_view line) {
    ++line_;
    if (in_block_) {
      const bool blank = line.find_first_not_of(kBlanks) == line.npos;
      if (blank || indent_of(line) > block_indent_) return;
      in_block_ = false;
    }
    for (at_ = 0; at_ < line.size(); ++at_) {
      if (!take_one(line)) break;
    }
    if (open_.empty() && quote_ == 0) look_for_block(line.substr(0, at_));
  }

  Position innermost(char bracket) const {
    for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
      if (at->bracket == bracket) return at->place;
    }
    return {};
  }

 private:
  struct Open {
    char bracket = 0;
    Position place;
  };

  // A quote or a bracket outside of a flow means something only where a value begins.
  bool begins_value(std::string_view line) const {
    const std::size_t before = at_ == 0 ? line.npos : line.find_last_not_of(kBlanks, at_ - 1);
    if (before == line.npos) return true;
    const bool apart = before + 1 < at_;
    if (!open_.empty()) return apart || std::string_view("[{,:").contains(line[before]);
    return apart && std::string_view(":-?").contains(line[before]);
  }

  // False: the rest of the line is a comment.
  bool take_one(std::string_view line) {
    const char c = line[at_];
    if (quote_ != 0) {
      if (c == '\\' && quote_ == '"') ++at_;
      if (c == quote_) quote_ = 0;
      return true;
    }
    if (c == '#' && (at_ == 0 || kBlanks.contains(line[at_ - 1]))) return false;
    if (c == '"' || c == '\'') {
      if (begins_value(line)) quote_ = c;
    } else if (c == '[' || c == '{') {
      const auto column = static_cast<std::uint32_t>(at_ + 1);
      if (!open_.empty() || begins_value(line)) open_.push_back({c, {line_, column}});
    } else if ((c == ']' || c == '}') && !open_.empty()) {
      open_.pop_back();
    }
    return true;
  }

  // "run: |" and "- >-": what is indented below is text.
  void look_for_block(std::string_view line) {
    const std::size_t last = line.find_last_not_of(" \t\r0123456789+-");
    if (last == line.npos || (line[last] != '|' && line[last] != '>') || last == 0) return;
    if (!kBlanks.contains(line[last - 1])) return;
    in_block_ = true;
    block_indent_ = indent_of(line);
  }

  std::vector<Open> open_;
  std::uint32_t line_ = 0;
  std::size_t at_ = 0;
  char quote_ = 0;
  bool in_block_ = false;
  std::size_t block_indent_ = 0;
};

}  // namespace

Position open_bracket(std::string_view text, char open) {
  Scan scan;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    scan.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return scan.innermost(open);
}

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
     "define it earlier, with & in front of its name; a string that begins with * needs quotes: "
     "\"*/15 * * * *\""},
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

namespace {

using boost::json::error;

struct Words {
  std::string message;
  std::string help;
};

// A quote, a brace or a bracket that opened and never closed is the usual reason for an early end.
Words early_end(std::string_view json) {
  if (json.find_first_not_of(" \t\r\n") == json.npos) return {"the document is empty", ""};
  return {"the document ends too early", "a quote, brace or bracket is never closed"};
}

Words unexpected(std::string_view json, std::size_t offset) {
  const char found = json[offset];
  const auto byte = static_cast<unsigned char>(found);
  if (byte >= 0x80) {
    if (character_bytes(json, offset) != 0) return {"unexpected text outside quotes", ""};
    return {fmt::format("byte \\x{:02x} is not UTF-8", byte), "save the document as UTF-8"};
  }
  if (byte < 0x20 || byte == 0x7f) {
    return {fmt::format("unexpected control character \\x{:02x}", byte),
            "inside quotes, write it as an escape such as \\n"};
  }
  if (found == '\'') return {"unexpected '", "strings need double quotes"};
  if (found == '/' || found == '#') {
    return {fmt::format("unexpected {}", found), "JSON does not allow comments"};
  }
  const bool closes = found == '}' || found == ']';
  return {fmt::format("unexpected {}", found), closes ? "is there an extra comma?" : ""};
}

Words words_of(std::string_view json, std::size_t offset, const boost::system::error_code& code) {
  if (!code) return {"unexpected content after the end of the document", ""};
  if (code == error::too_deep) return {"lists and objects are too deeply nested", ""};
  if (code == error::exponent_overflow) return {"the number is out of range", ""};
  if (code == error::array_too_large || code == error::object_too_large) {
    return {fmt::format("the document has more than {} values", Document::kNodesMax), ""};
  }
  if (code == error::incomplete || offset >= json.size()) return early_end(json);
  if (code == error::syntax) return unexpected(json, offset);
  return {code.message(), ""};
}

}  // namespace

Problem syntax_fault(std::string_view json, std::size_t offset,
                     const boost::system::error_code& error) {
  auto [message, help] = words_of(json, offset, error);
  const Position at = position_at(json, offset);
  return {.pointer = {},
          .message = std::move(message),
          .help = std::move(help),
          .line = at.line,
          .column = at.column};
}

}  // namespace vortex::codec
