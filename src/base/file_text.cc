#include "base/file_text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vortex {
namespace {

constexpr std::size_t kPiece = 64UL * 1024;

FileError error_of(int number) {
  const std::string why = fmt::format("cannot be read: {}", std::strerror(number));
  if (number == ENOENT) return {FileFault::kMissing, why};
  if (number == EISDIR) return {FileFault::kIsDirectory, "is a directory"};
  return {FileFault::kUnreadable, why};
}

std::expected<std::string, FileError> read_all(int fd, std::size_t bytes_max) {
  std::string text;
  for (;;) {
    const std::size_t had = text.size();
    const std::size_t wanted = std::min(kPiece, bytes_max + 1 - had);
    text.resize(had + wanted);
    ssize_t got = 0;
    while ((got = ::read(fd, text.data() + had, wanted)) < 0 && errno == EINTR) {
    }
    if (got < 0) return std::unexpected(error_of(errno));
    text.resize(had + static_cast<std::size_t>(got));
    if (got == 0) return text;
    if (text.size() > bytes_max) {
      return std::unexpected(
          FileError{FileFault::kTooLarge, fmt::format("is larger than {} KiB", bytes_max / 1024)});
    }
  }
}

}  // namespace

std::expected<std::string, FileError> read_file_text(const std::string& path,
                                                     std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return std::unexpected(error_of(errno));
  auto text = read_all(fd, bytes_max);
  ::close(fd);
  return text;
}

}  // namespace vortex
