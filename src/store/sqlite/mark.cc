#include "store/sqlite/mark.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace vortex::store::sqlite {
namespace {

constexpr std::uint64_t kMarkMagic = 0x4B52414D58545256;  // "VRTXMARK"; on disk

struct StoredMark {
  std::uint64_t magic = kMarkMagic;
  std::uint64_t term = 0;
  std::int64_t clock_us = 0;
  std::uint64_t check = 0;
};

std::uint64_t mark_check(const CommitMark::Point& point) {
  std::uint64_t hash = kMarkMagic;
  for (const std::uint64_t part : {point.term, static_cast<std::uint64_t>(point.clock_us)}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace

Result<CommitMark> CommitMark::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) return CommitMark(fd);
  const int code = errno;
  return std::unexpected(Error{code == ENOSPC ? Fault::kFull : Fault::kUnavailable,
                               fmt::format("cannot open {}: {}", path, std::strerror(code))});
}

CommitMark::CommitMark(CommitMark&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

CommitMark::~CommitMark() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<CommitMark::Point> CommitMark::point() const {
  StoredMark stored;
  if (::pread(fd_, &stored, sizeof stored, 0) != sizeof stored) return std::nullopt;
  const Point point{stored.term, stored.clock_us};
  if (stored.magic != kMarkMagic || stored.check != mark_check(point)) return std::nullopt;
  return point;
}

void CommitMark::set(const Point& point) {
  StoredMark stored;
  stored.term = point.term;
  stored.clock_us = point.clock_us;
  stored.check = mark_check(point);
  (void)!::pwrite(fd_, &stored, sizeof stored, 0);
}

}  // namespace vortex::store::sqlite
