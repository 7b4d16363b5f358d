#include "store/sqlite/file_lock.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace vortex::store::sqlite {
namespace {

Error locked_by(int fd, const std::string& path) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string_view pid(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  pid = pid.substr(0, pid.find('\n'));
  return {Fault::kLocked, fmt::format("{} is held by process {}: stop that controller first", path,
                                      pid.empty() ? "(unknown)" : pid)};
}

// Only to be shown: the lock itself does not depend on it.
void write_owner(int fd) {
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, text.data(), text.size(), 0);
}

}  // namespace

Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (!error && std::filesystem::is_directory(whole.parent_path(), error)) return whole.string();
  return std::unexpected(
      Error{Fault::kUnavailable, fmt::format("{}: the database directory does not exist", path)});
}

Result<FileLock> FileLock::take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    const int code = errno;
    return std::unexpected(
        Error{code == ENOSPC ? Fault::kFull : Fault::kUnavailable,
              fmt::format("cannot open the lock {}: {}", path, std::strerror(code))});
  }
  FileLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    write_owner(fd);
    return lock;
  }
  const int code = errno;
  if (code == EWOULDBLOCK) return std::unexpected(locked_by(fd, path));
  return std::unexpected(
      Error{Fault::kUnavailable, fmt::format("cannot lock {}: {}", path, std::strerror(code))});
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace vortex::store::sqlite
