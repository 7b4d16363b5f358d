#pragma once
// C++ source as the house tests read it: files of the repository, and their text with comments,
// literals or preprocessor lines blanked out. Blanked text keeps its length and its line breaks, so
// that a position found in it is the position in the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vortex::house {

struct SourceFile {
  std::string path;  // from the root of the repository, with forward slashes
  std::string text;
};

// What is wrong, where, and what to do about it.
struct Finding {
  std::string path;
  std::size_t line = 0;
  std::string message;
};

using Findings = std::vector<Finding>;

// One line per finding, as "path:line: message".
std::string report(const Findings& findings);

enum class Blank : std::uint8_t { kComments, kCommentsAndLiterals };
std::string blanked(std::string_view text, Blank what);

// Preprocessor lines, continued ones included, blanked out.
std::string without_directives(std::string_view text);

std::size_t line_at(std::string_view text, std::size_t position);
std::vector<std::string_view> lines_of(std::string_view text);
std::string_view trimmed(std::string_view text);
bool is_word_char(char c);

struct Include {
  std::string name;
  bool quoted = false;
  std::size_t line = 0;
};
std::vector<Include> includes_of(std::string_view text);

}  // namespace vortex::house
