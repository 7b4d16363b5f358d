#include "worker/files.h"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace vortex::worker {
namespace {

namespace fs = std::filesystem;

template <class Take>
std::vector<std::string> entries(const std::string& folder, Take take) {
  std::vector<std::string> out;
  std::error_code fault;
  // Step by step: the step of a range-for throws.
  for (fs::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    if (take(*at)) out.push_back(at->path().filename().string());
  }
  return out;
}

}  // namespace

std::string path_in(std::string_view folder, std::string_view name) {
  std::string path(folder);
  path.append("/").append(name);
  return path;
}

std::string read_text_file(const std::string& path) {
  return read_all(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

std::string read_all(const Fd& file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; file && (got = ::read(file.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

bool write_text_file(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::vector<std::string> names_in(const std::string& folder) {
  return entries(folder, [](const fs::directory_entry&) { return true; });
}

std::vector<std::string> folders_in(const std::string& folder) {
  return entries(folder, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_directory(ignored) && !entry.is_symlink(ignored);
  });
}

}  // namespace vortex::worker
