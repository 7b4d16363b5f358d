#include "tests/house/upkeep.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include <fmt/format.h>

namespace vortex::house {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kNotOurs{".git", "build", ".cache", "node_modules",
                                                   "__pycache__"};

const fs::path& root() {
  static const fs::path path = VX_SOURCE_ROOT;
  return path;
}

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Paths from the root, in one order everywhere.
std::vector<std::string> paths_in(const fs::path& folder) {
  std::vector<std::string> paths;
  if (!fs::exists(folder)) return paths;
  for (auto it = fs::recursive_directory_iterator(folder); it != fs::end(it); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && std::ranges::find(kNotOurs, name) != kNotOurs.end()) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file()) {
      paths.push_back(fs::relative(it->path(), root()).generic_string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

bool starts_type(std::string_view line) {
  return line.starts_with("class ") || line.starts_with("struct ") || line.starts_with("enum ");
}

// Written in pieces, so that this file does not find itself.
// In two parts, so that it is not found here.
constexpr std::string_view kTwoWords =
    "can"
    " not";

constexpr std::array<std::string_view, 4> kMachinePaths{
    "/wo"
    "rk/",
    "/ro"
    "ot/",
    "/ho"
    "me/",
    "../sha"
    "red"};

}  // namespace

Findings missing_header_comment(const SourceFile& file) {
  std::size_t block = 0;
  std::size_t longest = 0;
  bool at_top = false;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    const std::string_view text = trimmed(line);
    if (starts_type(text)) break;
    const bool comment = text.starts_with("//");
    at_top = at_top || (comment && number <= 2);
    block = comment ? block + 1 : 0;
    longest = std::max(longest, block);
  }
  if (at_top && longest >= 2) return {};
  return {{file.path, 1,
           "no header comment, or one of a single line: say beside #pragma once, in 3 to 8 lines, "
           "what this is, what it "
           "guarantees and what it must not do"}};
}

Findings untidy_lines(const SourceFile& file) {
  // Kept exactly as operators were told to type it.
  if (file.path.starts_with("tests/e2e/seed/")) return {};
  Findings findings;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    if (line.ends_with(' ') || line.ends_with('\t') || line.ends_with('\r')) {
      findings.push_back({file.path, number, "white space at the end of the line: remove it"});
    }
    if (line.contains(kTwoWords)) {
      findings.push_back({file.path, number, "'cannot' is one word: write it as one"});
    }
  }
  if (!file.text.empty() && !file.text.ends_with('\n')) {
    findings.push_back({file.path, number, "the last line does not end: add a line break"});
  }
  return findings;
}

Findings machine_paths(const SourceFile& file) {
  Findings findings;
  for (const std::string_view path : kMachinePaths) {
    for (std::size_t at = file.text.find(path); at != file.text.npos;
         at = file.text.find(path, at + 1)) {
      const char before = at == 0 ? ' ' : file.text[at - 1];
      if (is_word_char(before) || before == '.' || before == '/') continue;  // part of another path
      findings.push_back({file.path, line_at(file.text, at),
                          fmt::format("'{}' is a path of one machine: make it relative", path)});
    }
  }
  return findings;
}

namespace {

// "x.name", "x->name" or "&X::name", and not the beginning of a longer one.
bool names_member(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const bool of_something =
        at > 0 && (text[at - 1] == '.' || text[at - 1] == '>' || text[at - 1] == ':');
    const std::size_t end = at + name.size();
    if (of_something && (end == text.size() || !is_word_char(text[end]))) return true;
  }
  return false;
}

}  // namespace

Findings unread_settings(const SourceFile& header, const std::vector<SourceFile>& sources) {
  static const std::regex structure(R"(struct (\w+)Settings \{([^}]*(\{\}[^}]*)*)\n\};)");
  static const std::regex member(R"((\w+)(\{\}| = [^;]*)?;)");
  std::string readers;
  for (const SourceFile& file : sources) {
    const bool own = file.path.starts_with("src/base/settings");
    if (!own) readers += blanked(file.text, Blank::kCommentsAndLiterals) + '\n';
  }
  Findings findings;
  const std::string text = blanked(header.text, Blank::kComments);
  for (std::sregex_iterator at(text.begin(), text.end(), structure), end; at != end; ++at) {
    const std::string body = (*at)[2];
    for (std::sregex_iterator one(body.begin(), body.end(), member); one != end; ++one) {
      const std::string name = (*one)[1];
      if (names_member(readers, name)) continue;
      const auto position = static_cast<std::size_t>(at->position(2) + one->position(1));
      findings.push_back({header.path, line_at(text, position),
                          fmt::format("nobody reads the setting '{}': use it or remove it", name)});
    }
  }
  return findings;
}

std::vector<SourceFile> repository_files() {
  std::vector<SourceFile> files;
  for (const std::string& path : paths_in(root())) {
    std::string text = text_of(root() / path);
    if (!text.contains('\0')) files.push_back({.path = path, .text = std::move(text)});
  }
  return files;
}

std::vector<SourceFile> sources_in(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    for (const std::string& path : paths_in(root() / folder)) {
      if (!path.ends_with(".h") && !path.ends_with(".cc")) continue;
      files.push_back({.path = path, .text = text_of(root() / path)});
    }
  }
  return files;
}

Findings scripts_not_executable() {
  Findings findings;
  for (const SourceFile& file : repository_files()) {
    if (!file.text.starts_with("#!")) continue;
    const fs::perms perms = fs::status(root() / file.path).permissions();
    if ((perms & fs::perms::owner_exec) != fs::perms::none) continue;
    findings.push_back({file.path, 1, "a script that cannot be run: chmod +x"});
  }
  return findings;
}

}  // namespace vortex::house
