#include "tests/house/source_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace vortex::house {
namespace {

// Walks a text once and blanks what it is told to; one method per kind of stretch.
class Blanker {
 public:
  Blanker(std::string_view text, Blank what) : in_(text), out_(text), what_(what) {}

  std::string run() {
    while (at_ < in_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = in_[at_];
    if (in_.substr(at_, 2) == "//") return blank_until(in_.find('\n', at_), true);
    if (in_.substr(at_, 2) == "/*") return blank_until(past("*/", at_ + 2), true);
    if (is_raw_string()) return raw_string();
    if (c == '"') return literal('"');
    // A quote after a digit or letter separates digits: 1'000.
    if (c == '\'' && (at_ == 0 || !is_word_char(in_[at_ - 1]))) return literal('\'');
    ++at_;
  }

  bool is_raw_string() const {
    return in_.substr(at_, 2) == "R\"" && (at_ == 0 || !is_word_char(in_[at_ - 1]));
  }

  void raw_string() {
    const std::size_t open = in_.find('(', at_);
    const std::string close =
        open == in_.npos ? "" : ")" + std::string(in_.substr(at_ + 2, open - at_ - 2)) + "\"";
    blank_until(past(close, open == in_.npos ? in_.size() : open), what_ != Blank::kComments);
  }

  void literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < in_.size() && in_[end] != quote && in_[end] != '\n') {
      end += in_[end] == '\\' ? 2 : 1;
    }
    // The quotes stay, so that a literal still looks like one.
    ++at_;
    blank_until(std::min(end, in_.size()), what_ != Blank::kComments);
    if (at_ < in_.size() && in_[at_] == quote) ++at_;
  }

  std::size_t past(std::string_view mark, std::size_t from) const {
    const std::size_t found = in_.find(mark, from);
    return found == in_.npos ? in_.size() : found + mark.size();
  }

  void blank_until(std::size_t end, bool blank) {
    for (end = std::min(end, in_.size()); at_ < end; ++at_) {
      if (blank && in_[at_] != '\n') out_[at_] = ' ';
    }
  }

  std::string_view in_;
  std::string out_;
  Blank what_;
  std::size_t at_ = 0;
};

}  // namespace

std::string report(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{}:{}: {}\n", finding.path, finding.line, finding.message);
  }
  return text;
}

std::string blanked(std::string_view text, Blank what) { return Blanker(text, what).run(); }

std::string without_directives(std::string_view text) {
  std::string out(text);
  bool continued = false;
  std::size_t position = 0;
  for (const std::string_view line : lines_of(text)) {
    const bool directive = continued || trimmed(line).starts_with('#');
    continued = directive && line.ends_with('\\');
    if (directive)
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(position), line.size(), ' ');
    position += line.size() + 1;
  }
  return out;
}

std::size_t line_at(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<Include> includes_of(std::string_view text) {
  const std::string code = blanked(text, Blank::kComments);
  std::vector<Include> includes;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(code)) {
    ++number;
    std::string_view rest = trimmed(line);
    if (!rest.starts_with('#')) continue;
    rest = trimmed(rest.substr(1));
    if (!rest.starts_with("include")) continue;
    rest = trimmed(rest.substr(std::string_view("include").size()));
    if (rest.size() < 2 || (rest.front() != '"' && rest.front() != '<')) continue;
    const char close = rest.front() == '"' ? '"' : '>';
    includes.push_back({.name = std::string(rest.substr(1, rest.find(close, 1) - 1)),
                        .quoted = close == '"',
                        .line = number});
  }
  return includes;
}

}  // namespace vortex::house
