#include "codec/open_bracket.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vortex::codec {
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

}  // namespace vortex::codec
