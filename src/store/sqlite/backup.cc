#include "store/sqlite/backup.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "store/sqlite/connection.h"
#include "store/sqlite/migrate.h"

namespace vortex::store {
namespace sqlite {
namespace {

Error system_failure(std::string_view doing, const std::string& path) {
  const int code = errno;
  const Fault fault = code == ENOSPC || code == EDQUOT ? Fault::kFull : Fault::kUnavailable;
  return {fault, fmt::format("{} {}: {}", doing, path, std::strerror(code))};
}

Result<void> sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return std::unexpected(system_failure("opening", path));
  const bool synced = ::fsync(fd) == 0;
  Error failure = synced ? Error{} : system_failure("syncing", path);
  ::close(fd);
  if (!synced) return std::unexpected(std::move(failure));
  return {};
}

// One step, one read transaction: the copy is one committed state and the writer is not held up.
Result<void> copy_pages(const std::string& path, const std::string& partial) {
  auto from = Connection::open({.path = path, .use = Use::kRead, .vfs = {}});
  if (!from) return std::unexpected(from.error());
  if (auto version = version_of(**from); !version) return std::unexpected(version.error());
  auto to = Connection::open({.path = partial, .use = Use::kWrite, .vfs = {}});
  if (!to) return std::unexpected(to.error());
  sqlite3_backup* copy = sqlite3_backup_init((*to)->handle(), "main", (*from)->handle(), "main");
  if (copy == nullptr) return std::unexpected((*to)->error("starting the copy"));
  const int rc = sqlite3_backup_step(copy, -1);
  sqlite3_backup_finish(copy);
  if (rc == SQLITE_DONE) return {};
  return std::unexpected((*to)->error("copying the database"));
}

Result<void> give_name(const std::string& partial, const std::string& to) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    Error failure = system_failure("naming the copy", to);
    if (errno == EEXIST) failure.fault = Fault::kBadRequest;
    return std::unexpected(std::move(failure));
  }
  const auto folder = std::filesystem::absolute(to).parent_path();
  return sync_path(folder.string(), O_RDONLY | O_DIRECTORY);
}

}  // namespace
}  // namespace sqlite

Result<void> backup_sqlite(const std::string& path, const std::string& to) {
  using namespace sqlite;
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(to, ignored))) {
    return std::unexpected(
        Error{Fault::kBadRequest, fmt::format("{} exists; a backup never overwrites a file", to)});
  }
  const std::string partial = fmt::format("{}.partial-{}", to, ::getpid());
  std::filesystem::remove(partial, ignored);
  auto done = copy_pages(path, partial);
  if (done) done = sync_path(partial, O_RDWR);
  if (done) done = give_name(partial, to);
  if (!done) std::filesystem::remove(partial, ignored);
  return done;
}

}  // namespace vortex::store
