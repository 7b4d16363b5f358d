#include "controller/monitor_log.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/event_lines.h"

namespace vortex::controller {
namespace {

constexpr off_t kTailMax = 4 << 20;  // far longer than any line

// The end of the file, from `from` on.
std::string read_tail(int fd, off_t from, off_t size) {
  std::string tail(static_cast<std::size_t>(size - from), '\0');
  std::size_t got = 0;
  while (got < tail.size()) {
    const ssize_t n =
        ::pread(fd, tail.data() + got, tail.size() - got, from + static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  tail.resize(got);
  return tail;
}

std::uint64_t newest_seq(std::string_view lines) {
  std::uint64_t newest = 0;
  for (api::EventLine line; api::take_event(lines, line);) newest = std::max(newest, line.seq);
  return newest;
}

}  // namespace

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

// The sequence of the last whole line; 0: there is none. What stands behind it was torn by a crash.
std::uint64_t MonitorLog::last_whole_line(const std::string& path, bool cut) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  struct stat info{};
  std::uint64_t seq = 0;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    const off_t from = std::max<off_t>(info.st_size - kTailMax, 0);
    const std::string tail = read_tail(fd, from, info.st_size);
    const auto end = tail.rfind('\n') + 1;  // 0: no whole line
    if (cut && end < tail.size()) (void)!::ftruncate(fd, from + static_cast<off_t>(end));
    seq = newest_seq(std::string_view(tail).substr(0, end));
  }
  ::close(fd);
  return seq;
}

void MonitorLog::begin_at(std::uint64_t last_event) {
  const std::scoped_lock lock(guard_);
  if (path_.empty()) return;
  if (!begun_) {
    begun_ = true;
    whole_ = last_whole_line(path_, true);
    if (whole_ == 0) whole_ = last_whole_line(path_ + ".1", false);
    if (whole_ == 0) whole_ = last_event;
  }
  // A database that is older than the log: its events are new all the same.
  whole_ = std::min(whole_, last_event);
  newest_ = last_event;
}

void MonitorLog::rotate() {
  ::close(fd_);
  fd_ = -1;
  // When the rename fails the file goes on growing, which is better than losing lines.
  (void)std::rename(path_.c_str(), (path_ + ".1").c_str());
}

// All of it or nothing: what a full disk cut off is taken back.
bool MonitorLog::write(std::string_view text) {
  if (!open()) return false;
  const std::uint64_t before = size_;
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd_, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      (void)!::ftruncate(fd_, static_cast<off_t>(before));
      ::close(fd_);
      fd_ = -1;
      return false;
    }
    size_ += static_cast<std::uint64_t>(wrote);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (size_ > bytes_max_) rotate();
  return true;
}

MonitorLog::Wrote MonitorLog::append(const Lines& lines) {
  const std::scoped_lock lock(guard_);
  if (path_.empty() || lines.text.empty()) return Wrote::kAll;
  const bool next = whole_ == newest_ && lines.first_seq == whole_ + 1;
  newest_ = std::max(newest_, lines.last_seq);
  if (!next) return Wrote::kBehind;
  if (!write(lines.text)) return Wrote::kFailed;
  whole_ = lines.last_seq;
  return Wrote::kAll;
}

bool MonitorLog::is_behind() const {
  const std::scoped_lock lock(guard_);
  return !path_.empty() && whole_ < newest_;
}

MonitorLog::Missing MonitorLog::missing() const {
  const std::scoped_lock lock(guard_);
  return {whole_, newest_};
}

MonitorLog::Wrote MonitorLog::fill(const Missing& asked, std::string_view lines) {
  const std::scoped_lock lock(guard_);
  std::string missing;
  std::uint64_t last = whole_;
  for (api::EventLine line; api::take_event(lines, line);) {
    if (line.seq <= last) continue;
    missing.append(line.json).append("\n");
    last = line.seq;
  }
  if (!missing.empty() && !write(missing)) return Wrote::kFailed;
  // What the store no longer keeps cannot come back. Newer events may have come since it was asked.
  whole_ = missing.empty() ? std::max(whole_, asked.newest) : last;
  newest_ = std::max(newest_, last);
  return whole_ < newest_ ? Wrote::kBehind : Wrote::kAll;
}

}  // namespace vortex::controller
