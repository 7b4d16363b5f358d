#include "tests/house/map.h"

#include <algorithm>
#include <map>
#include <regex>

#include <fmt/format.h>

namespace vortex::house {
namespace {

const std::regex& file_name() {
  static const std::regex name(R"(`([\w*./-]+\.(?:h|cc|md|sql|cmake|py|sh|yaml|toml))`)");
  return name;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// A star stands for letters of a name, not for folders.
bool fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  if (text.size() < head.size() + tail.size()) return false;
  const std::string_view middle = text.substr(head.size(), text.size() - head.size() - tail.size());
  return text.starts_with(head) && text.ends_with(tail) && !middle.contains('/');
}

bool is_one_of(const std::string& name, const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, [&](const std::string& path) { return fits(name, path); });
}

}  // namespace

std::vector<std::string> named_files(std::string_view text) {
  std::vector<std::string> names;
  const std::string owned(text);
  for (std::sregex_iterator at(owned.begin(), owned.end(), file_name()), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Findings missing_files(const SourceFile& page, const std::vector<std::string>& paths) {
  Findings findings;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(page.text)) {
    ++number;
    std::string folder;
    for (const std::string& name : named_files(line)) {
      const bool there = is_one_of(name, paths) || is_one_of("src/" + name, paths) ||
                         (!folder.empty() && is_one_of("src/" + folder + name, paths));
      if (!there) {
        findings.push_back({page.path, number, fmt::format("there is no file '{}'", name)});
      }
      if (name.contains('/')) folder = folder_of(name);
    }
  }
  return findings;
}

std::string_view section(std::string_view page, std::string_view heading) {
  const std::size_t begin = page.find(fmt::format("\n## {}\n", heading));
  if (begin == std::string_view::npos) return {};
  const std::size_t end = page.find("\n## ", begin + 1);
  return page.substr(begin, end == std::string_view::npos ? end : end - begin);
}

Findings crowded_folders(const std::vector<SourceFile>& sources, std::size_t most) {
  std::map<std::string, std::size_t> files;
  for (const SourceFile& source : sources) ++files[folder_of(source.path)];
  Findings findings;
  for (const auto& [folder, count] : files) {
    if (count <= most) continue;
    findings.push_back({folder, 1,
                        fmt::format("{} files in one folder, {} at most: merge what belongs "
                                    "together, or make a folder for a part of it",
                                    count, most)});
  }
  return findings;
}

}  // namespace vortex::house
