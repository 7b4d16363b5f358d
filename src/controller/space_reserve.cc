#include "controller/space_reserve.h"

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace vortex::controller {
namespace {

std::uint64_t free_bytes_beside(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0) return 0;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

bool is_full_size(const std::string& path, std::uint64_t bytes) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return false;
  return static_cast<std::uint64_t>(info.st_size) == bytes;
}

}  // namespace

SpaceReserve reserve_of(const Settings& settings) {
  // A server has its own disk.
  const bool none = settings.database.space_reserve_mib == 0 || !settings.database.url.empty();
  return {none ? "" : settings.database.path + ".reserve",
          std::uint64_t{settings.database.space_reserve_mib} << 20U};
}

SpaceReserve::SpaceReserve(std::string path, std::uint64_t bytes)
    : path_(std::move(path)), bytes_(bytes) {}

bool SpaceReserve::hold() {
  if (path_.empty()) return true;
  if (held_) return true;
  if (is_full_size(path_, bytes_)) return held_ = true;
  if (free_bytes_beside(path_) < 2 * bytes_) return false;
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool taken = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes_)) == 0;
  ::close(fd);
  if (!taken) ::unlink(path_.c_str());
  return held_ = taken;
}

bool SpaceReserve::give_up() {
  held_ = false;
  return !path_.empty() && ::unlink(path_.c_str()) == 0;
}

}  // namespace vortex::controller
