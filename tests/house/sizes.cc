#include "tests/house/sizes.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace vortex::house {
namespace {

enum class Scope : std::uint8_t { kNamespace, kType, kFunction, kInitializer };

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word_char(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !is_word_char(text[end]))) return true;
  }
  return false;
}

// Where the bracket that opens at `open` closes; npos when it does not.
std::size_t closing(std::string_view text, std::size_t open, char left, char right) {
  std::size_t depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == left) ++depth;
    if (text[at] == right && --depth == 0) return at;
  }
  return text.npos;
}

// "template <class T> void f()" without its template part, which may say class or struct.
std::string_view without_template(std::string_view header) {
  header = trimmed(header);
  while (header.starts_with("template")) {
    const std::size_t open = header.find('<');
    const std::size_t close = open == header.npos ? open : closing(header, open, '<', '>');
    if (close == header.npos) break;
    header = trimmed(header.substr(close + 1));
  }
  return header;
}

// A constructor's list of members: the parameter list is closed and a single colon follows.
bool in_member_list(std::string_view header) {
  const std::size_t open = header.find('(');
  const std::size_t close = open == header.npos ? open : closing(header, open, '(', ')');
  if (close == header.npos) return false;
  for (std::size_t at = close + 1; at < header.size(); ++at) {
    if (header[at] != ':') continue;
    if (at + 1 < header.size() && header[at + 1] == ':') {
      ++at;
      continue;
    }
    return true;
  }
  return false;
}

Scope scope_of(std::string_view whole_header) {
  const std::string_view header = without_template(whole_header);
  if (has_word(header, "namespace") || header.starts_with("extern")) return Scope::kNamespace;
  const std::string_view before_base = header.substr(0, header.find_first_of("(:="));
  for (const std::string_view word : {"class", "struct", "union", "enum"}) {
    if (has_word(before_base, word)) return Scope::kType;
  }
  if (header.ends_with('=') || header.ends_with(',') || header.ends_with('(')) {
    return Scope::kInitializer;
  }
  if (header.empty() || !header.contains('(')) return Scope::kInitializer;
  if (in_member_list(header) && is_word_char(header.back())) return Scope::kInitializer;
  return Scope::kFunction;
}

std::string type_name(std::string_view whole_header) {
  std::string_view header = without_template(whole_header);
  const std::size_t base = header.find_first_of(":{");
  header = trimmed(header.substr(0, base));
  if (header.ends_with("final")) header = trimmed(header.substr(0, header.size() - 5));
  std::size_t start = header.size();
  while (start > 0 && is_word_char(header[start - 1])) --start;
  return std::string(header.substr(start));
}

std::size_t parameter_count(std::string_view list) {
  if (trimmed(list).empty()) return 0;
  std::size_t count = 1;
  int depth = 0;
  for (const char c : list) {
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) ++count;
  }
  return count;
}

std::optional<std::size_t> constructor_parameters(std::string_view header, std::string_view type) {
  if (type.empty()) return std::nullopt;
  header = without_template(header);
  for (const std::string_view word : {"explicit", "constexpr", "inline"}) {
    if (header.starts_with(word)) header = trimmed(header.substr(word.size()));
  }
  if (!header.starts_with(type)) return std::nullopt;
  const std::string_view rest = trimmed(header.substr(type.size()));
  if (!rest.starts_with('(')) return std::nullopt;
  const std::size_t close = closing(rest, 0, '(', ')');
  return parameter_count(rest.substr(1, close == rest.npos ? close : close - 1));
}

// Reads the braces of one file from top to bottom.
class OutlineReader {
 public:
  explicit OutlineReader(std::string_view text)
      : code_(without_directives(blanked(text, Blank::kCommentsAndLiterals))) {}

  Outline run() {
    for (at_ = 0; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      if (c == '{') open_brace();
      if (c == '}') close_brace();
      if (c == ';' && !inside_code()) end_declaration();
      if (c == ':' && ends_access_label()) header_from_ = at_ + 1;
    }
    return std::move(outline_);
  }

 private:
  struct Open {
    Scope scope{};
    std::string type;
    std::size_t header_from = 0;
  };

  bool inside_code() const {
    return !open_.empty() &&
           (open_.back().scope == Scope::kFunction || open_.back().scope == Scope::kInitializer);
  }

  std::string_view header() const {
    return trimmed(std::string_view(code_).substr(header_from_, at_ - header_from_));
  }

  bool ends_access_label() const {
    return !inside_code() &&
           (header() == "public" || header() == "private" || header() == "protected");
  }

  void open_brace() {
    // Everything inside a function is part of it.
    const Scope scope = inside_code() ? Scope::kInitializer : scope_of(header());
    open_.push_back({.scope = scope,
                     .type = scope == Scope::kType ? type_name(header()) : std::string(),
                     .header_from = header_from_});
    if (scope == Scope::kFunction) note_constructor();
    if (scope == Scope::kNamespace || scope == Scope::kType) header_from_ = at_ + 1;
  }

  void close_brace() {
    if (open_.empty()) return;
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.scope == Scope::kFunction) add_function(closed);
    // After a braced initializer the declaration goes on: `: a_{1}, b_{2} {`.
    header_from_ = closed.scope == Scope::kInitializer ? closed.header_from : at_ + 1;
  }

  void end_declaration() {
    note_constructor();
    header_from_ = at_ + 1;
  }

  void note_constructor() {
    const auto type = std::ranges::find_if(
        open_.rbegin(), open_.rend(), [](const Open& open) { return open.scope == Scope::kType; });
    if (type == open_.rend()) return;
    const auto parameters = constructor_parameters(header(), type->type);
    if (parameters) {
      outline_.constructors.push_back(
          {.name = type->type, .parameters = *parameters, .line = first_line(header_from_)});
    }
  }

  void add_function(const Open& closed) {
    const std::size_t brace = code_.find('{', closed.header_from);
    outline_.functions.push_back({.header = std::string(trimmed(std::string_view(code_).substr(
                                      closed.header_from, brace - closed.header_from))),
                                  .first_line = first_line(closed.header_from),
                                  .last_line = line_at(code_, at_)});
  }

  std::size_t first_line(std::size_t from) const {
    const std::size_t start = code_.find_first_not_of(" \n\t", from);
    return line_at(code_, std::min(start, code_.size()));
  }

  std::string code_;
  std::size_t at_ = 0;
  std::size_t header_from_ = 0;
  std::vector<Open> open_;
  Outline outline_;
};

}  // namespace

Outline outline_of(std::string_view text) { return OutlineReader(text).run(); }

Findings oversized_files(const SourceFile& file) {
  const std::size_t lines = lines_of(file.text).size();
  if (lines <= kFileLinesMax) return {};
  return {{file.path, kFileLinesMax + 1,
           fmt::format("{} lines, {} at most: split it by what it does", lines, kFileLinesMax)}};
}

Findings oversized_functions(const SourceFile& file) {
  Findings findings;
  const Outline outline = outline_of(file.text);
  for (const FunctionSpan& function : outline.functions) {
    const std::size_t lines = function.last_line - function.first_line + 1;
    if (lines <= kFunctionLinesMax) continue;
    findings.push_back({file.path, function.first_line,
                        fmt::format("function of {} lines, {} at most: give its steps names", lines,
                                    kFunctionLinesMax)});
  }
  for (const ConstructorSeen& constructor : outline.constructors) {
    if (constructor.parameters <= kConstructorParametersMax) continue;
    findings.push_back(
        {file.path, constructor.line,
         fmt::format("constructor of {} takes {} parameters, {} at most: group them "
                     "in a struct, or the class does too much",
                     constructor.name, constructor.parameters, kConstructorParametersMax)});
  }
  return findings;
}

}  // namespace vortex::house
