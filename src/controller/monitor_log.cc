#include "controller/monitor_log.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vortex::controller {

MonitorLog::MonitorLog(std::string path, std::uint64_t bytes_max)
    : path_(std::move(path)), bytes_max_(bytes_max) {}

MonitorLog::~MonitorLog() {
  if (fd_ >= 0) ::close(fd_);
}

bool MonitorLog::open() {
  if (fd_ >= 0) return true;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd_ < 0) return false;
  struct stat info{};
  size_ = ::fstat(fd_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
  return true;
}

void MonitorLog::rotate() {
  ::close(fd_);
  fd_ = -1;
  // When the rename fails the file goes on growing, which is better than losing lines.
  (void)std::rename(path_.c_str(), (path_ + ".1").c_str());
}

bool MonitorLog::append(std::string_view lines) {
  if (path_.empty() || lines.empty()) return true;
  if (!open()) return false;
  while (!lines.empty()) {
    const ssize_t wrote = ::write(fd_, lines.data(), lines.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    size_ += static_cast<std::uint64_t>(wrote);
    lines.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (size_ > bytes_max_) rotate();
  return true;
}

}  // namespace vortex::controller
